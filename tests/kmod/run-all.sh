#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the module's tests in virtual machines, one boot per kernel, and prints TAP.
#
#   tests/kmod/run-all.sh [-q] [-b DIRECTORY] [-L DIRECTORY] [-o 'functional access ...'] KERNEL...
#   tests/kmod/run-all.sh [-q] [-b DIRECTORY] [-L DIRECTORY] -r RESULTS KERNEL...   all at once, each into RESULTS/KERNEL.tap
#   tests/kmod/run-all.sh [-q] [-b DIRECTORY] [-L DIRECTORY] -l KERNEL...           lists what would run: KERNEL PROGRAM TEST
#
#   KERNEL: 6.1, 6.12, a suite such as sid (scripts/vm/kernels.sh), debug or kcsan. On the kernels of suites the functional,
#   faults, invalidation and access tests run.
#   -b  where the test programs are built (default: in the cache)
#   -L  where the library and its tests are built: on Debian's kernels they run too (default: they do not)
#   -q  of debug and kcsan: only if they are in the cache, and a choice of tests
#
# Exits 1 if a test failed or a kernel complained; with -r only the results tell. A kernel that cannot be run here is
# one line that says why: 1..0 # SKIP. KCOLL_FUZZ_SECONDS: how long the fuzzer runs (20).
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=../../scripts/vm/common.sh
. "$top/scripts/vm/common.sh"
build=$cache/tests library='' chosen='' quick='' results='' list=''
while getopts b:L:lo:qr: option; do
    case $option in
    b) build=$OPTARG ;;
    L) library=$OPTARG ;;
    l) list=1 ;;
    o) chosen=$OPTARG ;;
    q) quick=1 ;;
    r) results=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
build=$(realpath -m "$build") # make runs in another directory

# programs KERNEL
programs() {
    if [ -n "$chosen" ]; then
        echo "$chosen"
    elif [[ $1 == [0-9]* ]]; then
        echo functional faults absent invalidation access accounting charges pressure harm scale shares gate parameters uring fuzz stress
    elif [[ $1 != debug* && $1 != kcsan* ]]; then
        echo functional faults absent invalidation access
    elif [ -n "$quick" ]; then
        echo access faults absent gate invalidation fuzz failnth
    else
        echo functional faults absent invalidation access accounting charges pressure harm scale shares gate parameters uring fuzz stress failnth
    fi
}

# Returns whether the library's tests run on KERNEL.
with_library() { [ -n "$library" ] && [[ $1 == [0-9]* ]] && [ -z "$chosen" ]; }

# report PROGRAM TEST STATUS [FILE]: prints one result from outside the machine, with the text that explains it.
report() {
    echo "# program $1"
    [ -z "${4:-}" ] || sed 's/^/# /' "$4"
    case $3 in
    0) echo "ok 1 - $2" ;;
    77) echo "ok 1 - $2 # SKIP" ;;
    *) echo "not ok 1 - $2" ;;
    esac
}

# Builds the module for KERNEL, and prints what the compiler and sparse find. 77: the kernel is not available.
build_module() {
    local status=0
    "$top/scripts/vm/build-module.sh" "$1" C=2 > "$work/$1.build" 2>&1 || status=$?
    if [ $status = 77 ]; then
        echo "1..0 # SKIP $(tail -1 "$work/$1.build")"
        return 77
    fi
    report module builds_without_a_warning $status "$work/$1.build"
    [ $status = 0 ] || return $status
    foreign_symbols "$(tail -1 "$work/$1.build")" > "$work/$1.symbols" || status=1
    report module global_symbols_begin_with_kcoll $status "$work/$1.symbols"
    return $status
}

# foreign_symbols MODULE: prints its global symbols whose names other code of the kernel may have; fails if there are any,
# or none at all. Names with two underscores are those of the compiler, of modpost and of tracepoints.
foreign_symbols() {
    nm -g --defined-only "$1" | awk '
        { n++ }
        $3 !~ /^(kcoll_|__|init_module$|cleanup_module$)/ { print; bad = 1 }
        END { exit bad || !n }'
}

# boot KERNEL LIMIT ENVIRONMENT PROGRAMS: runs them in one machine, for at most LIMIT seconds. Returns run.sh's status.
boot() {
    "$top/scripts/vm/run.sh" -k "$1" -t "${KCOLL_TIMEOUT:-$2}" "
        failed=0
        for program in $4; do
            echo \"# program \$program\"
            env $3 '$build/'\$program || failed=1
        done
        $(with_library "$1" && echo "echo '# program library'; '$here/library.sh' '$library' || failed=1")
        exit \$failed" 2>> "$work/$1.errors"
}

# run KERNEL: returns 0, 1 (a test failed), 77 (not available), or run.sh's status.
run() {
    local kernel=$1 environment="KCOLL_FUZZ_SECONDS=${KCOLL_FUZZ_SECONDS:-20}" limit=2700 slow='' programs status=0
    local start=$SECONDS
    if [[ $kernel == debug* || $kernel == kcsan* ]]; then
        environment+=" KCOLL_SLOW=1" limit=3000 slow=1
        if [ -n "$quick" ] && [ ! -e "$cache/$kernel/complete" ]; then
            echo "1..0 # SKIP no $kernel kernel in the cache (make test-kmod-debug builds one, in 12 CPU minutes)"
            return 77
        fi
    fi
    build_module "$kernel" || return
    programs=$(programs "$kernel")
    : > "$work/$kernel.errors"
    # Kernels with checks leave few of the times that shares.c allows, so the clock stands while the host does other work.
    if [ -n "$slow" ] && [[ " $programs " == *" shares "* ]]; then
        ICOUNT=1,sleep=off boot "$kernel" "$limit" "$environment" shares || status=$?
        programs=${programs/shares/}
    fi
    if [ -n "${programs// /}" ] && [ $status != 77 ]; then
        boot "$kernel" "$limit" "$environment" "$programs" || status=$(($? > status ? $? : status))
    fi
    if [ $status = 77 ]; then
        echo "1..0 # SKIP $(tail -1 "$work/$kernel.errors")"
        return 77
    fi
    # Checks at the end: no complaint, no leak, no page that stayed pinned, and the module could be unloaded.
    grep -q 'the kernel complained' "$work/$kernel.errors" && status=99
    report machine the_kernel_is_content $((status > 1)) "$work/$kernel.errors"
    echo "# kernel $kernel: status $status after $((SECONDS - start)) s"
    return $status
}

make -s --no-print-directory -C "$here" BUILD="$build" >&2 || exit 1
if [ -n "$list" ]; then
    for kernel in "$@"; do
        echo "$kernel module builds_without_a_warning"
        echo "$kernel module global_symbols_begin_with_kcoll"
        for program in $(programs "$kernel"); do
            "$build/$program" --list | sed "s/^/$kernel $program /"
        done
        ! with_library "$kernel" || "$here/library.sh" "$library" --list | sed "s/^/$kernel library /"
        echo "$kernel machine the_kernel_is_content"
    done
    exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -n "$results" ]; then
    mkdir -p "$results"
    for kernel in "$@"; do
        run "$kernel" > "$results/$kernel.tap" &
    done
    wait
    ran=''
    for kernel in "$@"; do
        echo "$kernel: $(tail -1 "$results/$kernel.tap")"
        grep -q '^1\.\.0 # SKIP' "$results/$kernel.tap" || ran=1
    done
    [ -n "$ran" ] || exit 77
    exit 0
fi
failures=0
for kernel in "$@"; do
    echo "# kernel $kernel"
    run "$kernel"
    case $? in
    0 | 77) ;;
    *) failures=1 ;;
    esac
done
exit $failures
