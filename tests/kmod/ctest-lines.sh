#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# ctest-lines.sh [-L BUILD] BUILD PROGRAMS KERNEL=LABEL[,LABEL]...: builds the test programs in PROGRAMS and prints a
# ctest line for each test of each kernel. Each line looks up its result in BUILD/tests/kmod/KERNEL.tap, which the line
# kmod.run.KERNEL has created. A debug kernel that is not in the cache when ctest starts has only a line that reports
# that. -L: includes the tests of the library.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../scripts/vm/common.sh
. "$here/../../scripts/vm/common.sh"
library=()
if [ "$1" = -L ]; then
    library=(-L "$2")
    shift 2
fi
build=$1 programs=$2
shift 2

# line KERNEL PROGRAM TEST NAME PROPERTY...: prints a line with the labels of $labels.
line() {
    local kernel=$1 program=$2 test=$3 name=$4
    shift 4
    echo "add_test([==[$name]==] [==[$here/result.sh]==] [==[$build/tests/kmod/$kernel.tap]==] $program $test)"
    echo "set_tests_properties([==[$name]==] PROPERTIES LABELS [==[$labels]==] SKIP_RETURN_CODE 77 $*" \
        "ENVIRONMENT [==[GTEST_OUTPUT=xml:$build/gtest/$name.xml]==])"
}

for labelled in "$@"; do
    kernel=${labelled%%=*} labels=${labelled#*=}
    labels=${labels//,/;}
    line "$kernel" - boot "kmod.$kernel.boot" FIXTURES_REQUIRED "kmod_run_$kernel" FIXTURES_SETUP "kmod_$kernel"
    [[ $kernel != debug* && $kernel != kcsan* ]] || echo "if(EXISTS [==[$cache/$kernel/complete]==])"
    "$here/run-all.sh" -q -b "$programs" "${library[@]}" -l "$kernel" | while read -r _ program test; do
        line "$kernel" "$program" "$test" "kmod.$kernel.$program.$test" FIXTURES_REQUIRED "kmod_$kernel"
    done
    [[ $kernel != debug* && $kernel != kcsan* ]] || echo "endif()"
done
