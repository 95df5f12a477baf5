#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The library's tests of memory, topology and transports, and collectives of 2 to 4 ranks, on an emulated arm64 machine
# (scripts/vm/arm64.sh -L); prints TAP.
#
#   tests/kmod/arm64-library.sh BUILD [PATTERN]   runs them, or those whose names match; BUILD is the cross build
#
# Runs in busybox: such a machine has no other shell.
build=$1 pattern=${2:-.}

# Prints name PROGRAM [ARGUMENT...] for every test. The module is loaded, so its transports are tested, too.
tests() {
    for name in mem_test topo_test topo_bad_input_test sync_lock sync_backoff sync_protocols transport_arena \
        transport_keeper transport_life transport_descriptor_socket transport_peer transport_segment transport_kcoll \
        transport_kcoll_access comm_segment_layout comm_bound_plans comm_memory comm_arenas comm_split \
        comm_refused_copies; do
        echo "$name $build/tests/${name%%_*}/$name"
    done
    for transport in shm cma kcoll_copy kcoll_map; do
        for ranks in 2 4; do
            echo "collectives.$transport.$ranks $build/tests/comm/comm_collectives --gtest_filter=*/$transport$ranks"
        done
        echo "requests.$transport.4 $build/tests/comm/comm_requests --gtest_filter=*/${transport}4"
        echo "owner.$transport.4 $build/tests/comm/comm_transports --gtest_filter=*Owner*/${transport}4"
    done
}

run() {
    n=0 failed=0
    while read -r name command; do
        n=$((n + 1)) start=$(date +%s)
        if [ ! -x "${command%% *}" ]; then
            echo "not ok $n - $name"
            echo "# ${command%% *} is not built"
            failed=1
            continue
        fi
        # shellcheck disable=SC2086
        if $command --gtest_brief=1 > /tmp/output 2>&1 < /dev/null && ! grep -q 'Running 0 tests' /tmp/output; then
            echo "ok $n - $name"
            grep -c SKIPPED /tmp/output | sed 's/^[1-9].*/# skipped cases: &/; t; d'
        else
            sed 's/^/# /' /tmp/output
            echo "not ok $n - $name"
            failed=1
        fi
        echo "# $name: $(($(date +%s) - start)) s"
    done
    return $failed
}

awk '/KernelPageSize/ {print "# pages of " $2 " KiB"; exit}' /proc/self/smaps
echo "1..$(tests | awk -v pattern="$pattern" '$1 ~ pattern' | wc -l)"
tests | awk -v pattern="$pattern" '$1 ~ pattern' > /tmp/tests
run < /tmp/tests
