#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# ctest-lines.sh BUILD PROGRAMS KERNEL...: the test programs are built in PROGRAMS; prints a ctest line for each test of
# each kernel. Each looks up its result in BUILD/tests/kmod/KERNEL.tap, which the line kmod.run has made.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1 programs=$2
shift 2
list=$("$here/run-all.sh" -q -b "$programs" -l "$@")

awk -v here="$here" -v build="$build" '
  function line(name, kernel, program, test, properties) {
    printf "add_test([==[%s]==] [==[%s/result.sh]==] [==[%s/tests/kmod/%s.tap]==] %s %s)\n", name, here, build, kernel, program, test
    printf "set_tests_properties([==[%s]==] PROPERTIES LABELS kmod SKIP_RETURN_CODE 77 %s", name, properties
    printf " ENVIRONMENT [==[GTEST_OUTPUT=xml:%s/gtest/%s.xml]==])\n", build, name
  }
  !seen[$1]++ { line("kmod." $1 ".boot", $1, "-", "boot", "FIXTURES_REQUIRED kmod FIXTURES_SETUP kmod_" $1) }
  { line("kmod." $1 "." $2 "." $3, $1, $2, $3, "FIXTURES_REQUIRED kmod_" $1) }' <<EOF
$list
EOF
