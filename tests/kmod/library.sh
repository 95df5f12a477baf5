#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The library's own tests with each transport of the module forced, inside a virtual machine; prints TAP.
#
#   tests/kmod/library.sh BUILD [PATTERN]   runs them, or those whose names match; BUILD is where cmake has built the library
#                                           and its tests
#   tests/kmod/library.sh BUILD --list      their names
set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$1 pattern=${2:-.}
comm=$build/tests/comm/comm_
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

# Prints name COMMAND... for every test. On emulated machines, the tests themselves skip every other size and most roots
# for eight ranks.
tests() {
    local transport ranks
    for transport in kcoll_copy kcoll_map kcoll_uring; do
        for ranks in 4 8; do
            echo "collectives.$transport.$ranks ${comm}collectives --gtest_filter=*/$transport$ranks"
            echo "pieces.$transport.$ranks ${comm}pieces --gtest_filter=*/$transport$ranks"
            # A ring submits the copies that kcoll_copy makes, for plans without blocks.
            [ $transport = kcoll_uring ] ||
                echo "algorithms.$transport.$ranks ${comm}algorithms --gtest_filter=*/$transport$ranks"
            echo "requests.$transport.$ranks ${comm}requests --gtest_filter=*/$transport$ranks"
            echo "owner.$transport.$ranks ${comm}transports --gtest_filter=*Owner*/$transport$ranks"
            echo "death.$transport.$ranks ${comm}death --gtest_filter=All/*/$transport$ranks*"
            shim "shim.$transport.$ranks" $transport $ranks blocks
        done
    done
    shim shim.datatypes.kcoll_map.4 kcoll_map 4 reduce
    echo "transports.bits_and_bytes ${comm}transports --gtest_filter=Ranks/*"
    echo "transports.batches ${comm}transports --gtest_filter=Batches.*"
    echo "transports.access $build/tests/transport/transport_kcoll_access"
}
# shim NAME TRANSPORT RANKS PROGRAM: prints an MPI program on libcoll.
shim() {
    command -v mpirun.openmpi mpicc.openmpi > /dev/null || return 0
    echo "$1 python3 $top/tests/mpi/run_shim.py run --mpi openmpi --launcher $(command -v mpirun.openmpi)" \
        "--shim $build/lib/mpi/libcoll_mpi_openmpi.so --ranks $3 --setting COLL_TRANSPORT=$2" \
        "--takes reduce,allreduce --timeout 400 $build/tests/mpi/openmpi_$4"
}

if [ "${2:-}" = --list ]; then
    tests | awk '{print $1}'
    exit
fi

# Runs the lines that tests prints.
run() {
    local n=0 failed=0 name command program start output
    while read -r name command; do
        n=$((n + 1)) start=$SECONDS
        program=${command##* }
        [[ $command == *gtest_filter* ]] && program=${command%% *}
        if [ ! -x "$program" ]; then
            echo "# skipped: $program is not built"
            echo "ok $n - $name # SKIP"
            continue
        fi
        # shellcheck disable=SC2086
        if output=$(taskset -c 0,1 $command 2>&1 < /dev/null) && ! grep -q 'Running 0 tests' <<< "$output"; then
            echo "ok $n - $name"
        else
            sed 's/^/# /' <<< "$output"
            echo "not ok $n - $name"
            failed=1
        fi
        echo "# $name: $((SECONDS - start)) s"
    done
    return $failed
}

chosen() { tests | awk -v pattern="$1" '$1 ~ pattern'; }
echo "1..$(chosen "$pattern" | wc -l)"
chosen "$pattern" | run
