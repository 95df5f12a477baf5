#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# run-tests.sh JOBS BUILD... [-- CTEST OPTION...]: runs the tests of all build directories as one ctest, whose closing
# lines come last.
# Before them it lists the skipped parts of test programs with their reasons.
set -euo pipefail

[ $# -ge 2 ] || { echo 'usage: scripts/run-tests.sh JOBS BUILD... [-- CTEST OPTION...]' >&2; exit 2; }
jobs=$1
shift
builds=() select=()
while [ $# -gt 0 ]; do
  if [ "$1" = -- ]; then
    select=("${@:2}")
    break
  fi
  builds+=("$1")
  shift
done
scripts=$(cd "$(dirname "$0")" && pwd)
all=${builds[0]}/all-tests

mkdir -p "$all"
rm -f "$all"/CTestTestfile.cmake
for build in "${builds[@]}"; do
  build=$(cd "$build" && pwd)
  rm -rf "$build/gtest"
  printf 'subdirs("%s")\n' "$build" >>"$all/CTestTestfile.cmake"
done

printf '== test %s\n' "${builds[*]}"
ctest --test-dir "$all" --no-tests=error --output-on-failure --parallel "$jobs" "${select[@]}" 2>&1 |
  while IFS= read -r line; do
    case $line in *"tests passed, "*) "$scripts/list-skips.py" "${builds[@]}" ;; esac
    printf '%s\n' "$line"
  done
