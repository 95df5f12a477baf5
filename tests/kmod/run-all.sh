#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the module's tests in virtual machines, one boot per kernel.
#
#   tests/kmod/run-all.sh [-o 'functional access ...'] 6.1|6.12|debug|kcsan...
#
# Prints TAP; exits 1 if a test failed or a kernel complained. KCOLL_FUZZ_SECONDS chooses how long the fuzzer runs.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=${XDG_CACHE_HOME:-$HOME/.cache}/libcoll/vm/tests
tests="functional invalidation access accounting gate uring fuzz stress failnth"
while getopts o: option; do
    case $option in
    o) tests=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))

make -s -C "$here" BUILD="$build" || exit 1
failures=0
for kernel in "$@"; do
    environment="KCOLL_FUZZ_SECONDS=${KCOLL_FUZZ_SECONDS:-20}"
    limit=1500
    case $kernel in
    debug | kcsan) environment+=" KCOLL_SLOW=1" limit=3000 ;;
    esac
    start=$SECONDS
    # Each program reports; the machine's status is whether any failed.
    "$top/scripts/vm/run.sh" -k "$kernel" -t "${KCOLL_TIMEOUT:-$limit}" \
        "failed=0; for t in $tests; do echo \"# $kernel \$t\"; env $environment $build/\$t || failed=1; done; exit \$failed"
    status=$?
    echo "# $kernel: status $status after $((SECONDS - start)) s"
    [ $status = 0 ] || failures=1
done
exit $failures
