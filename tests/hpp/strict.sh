#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# strict.sh SOURCE_ROOT: coll.hpp and what the tests here instantiate of it, under strict warnings, by $CXX and clang++.
set -eu

root=$1
here=$(dirname "$0")
# What is not under test is a system header: GoogleTest, the ranks.
strict='-std=c++20 -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor -pedantic -Werror -fsyntax-only'
system="-isystem $root/lib -isystem $root/tests"

compile() {
  for source in "$here"/*_test.cc; do
    # shellcheck disable=SC2086
    "$1" $strict -I "$root/include" $system "$source" || { echo "$source does not compile by $1" >&2; exit 1; }
  done
  echo "coll.hpp: $("$1" --version | head -n 1)"
}

compile "${CXX:-c++}"
if ! command -v clang++ >/dev/null; then
  echo "skipped: clang++ is not installed (Debian: clang); ${CXX:-c++} found no fault"
  exit 77
fi
compile clang++
