#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# header.sh INCLUDE_DIRECTORY: every public header compiles on its own, twice, without a warning, as the oldest and
# the newest languages its users write. CC and CXX are the compilers.
set -eu

include=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strict='-Wall -Wextra -Wshadow -Wconversion -pedantic -Werror -fsyntax-only'

# compile HEADER SUFFIX COMPILER STANDARD
compile() {
  printf '#include <coll/%s>\n#include <coll/%s>\n' "$1" "$1" >"$work/user.$2"
  # shellcheck disable=SC2086
  "$3" "-std=$4" $strict -I "$include" "$work/user.$2" || { echo "coll/$1 does not compile as $4" >&2; exit 1; }
  echo "coll/$1: $4"
}

for header in "$include"/coll/*.h; do
  for standard in c11 c17; do compile "$(basename "$header")" c "${CC:-cc}" "$standard"; done
  for standard in c++11 c++20; do compile "$(basename "$header")" cc "${CXX:-c++}" "$standard"; done
done
for header in "$include"/coll/*.hpp; do
  [ ! -e "$header" ] || compile "$(basename "$header")" cc "${CXX:-c++}" c++20
done
