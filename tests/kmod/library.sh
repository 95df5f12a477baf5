#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The library's own tests with each transport of the module forced, inside a virtual machine; prints TAP.
#
#   tests/kmod/library.sh BUILD          runs them; BUILD is where cmake has built the library and its tests
#   tests/kmod/library.sh BUILD --list   their names
set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$1
comm=$build/tests/comm/comm_
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

# name COMMAND... for every test. Four ranks do everything, eight what an emulated machine has time for.
tests() {
    local transport ranks
    for transport in kcoll_copy kcoll_map kcoll_uring; do
        for ranks in 4 8; do
            echo "collectives.$transport.$ranks ${comm}collectives --gtest_filter=*/$transport$ranks"
        done
        echo "pieces.$transport.4 ${comm}pieces --gtest_filter=*/${transport}4"
        # Of the plans that move no pieces a ring submits what kcoll_copy copies.
        [ $transport = kcoll_uring ] || echo "algorithms.$transport.4 ${comm}algorithms --gtest_filter=*/${transport}4"
        echo "requests.$transport.4 ${comm}requests --gtest_filter=*/${transport}4"
        echo "owner.$transport.4 ${comm}transports --gtest_filter=*Owner*/${transport}4"
        echo "death.$transport.4 ${comm}death --gtest_filter=*/${transport}4middle"
    done
    if command -v mpirun.openmpi mpicc.openmpi > /dev/null; then
        for transport in kcoll_copy:4 kcoll_map:8; do
            echo "shim.${transport/:/.} python3 $top/tests/mpi/run_shim.py run --mpi openmpi" \
                "--launcher $(command -v mpirun.openmpi) --shim $build/lib/mpi/libcoll_mpi_openmpi.so" \
                "--ranks ${transport#*:} --setting COLL_TRANSPORT=${transport%:*} --takes reduce,allreduce" \
                "--timeout 400 $build/tests/mpi/openmpi_reduce"
        done
    fi
    echo "owner.kcoll_map.8 ${comm}transports --gtest_filter=*Owner*/kcoll_map8"
    echo "death.kcoll_map.8 ${comm}death --gtest_filter=*/kcoll_map8middle"
    echo "transports.bits_and_bytes ${comm}transports --gtest_filter=Ranks/*"
    echo "transports.batches ${comm}transports --gtest_filter=Batches.*"
    echo "transports.access $build/tests/transport/transport_kcoll_access"
}

if [ "${2:-}" = --list ]; then
    tests | awk '{print $1}'
    exit
fi

# Reads what tests prints.
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

echo "1..$(tests | wc -l)"
tests | run
