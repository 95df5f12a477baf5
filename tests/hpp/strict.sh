#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# strict.sh SOURCE_ROOT COMPILER WARNING...: compiles coll.hpp and what the tests instantiate of it with COMPILER,
# without a warning. The compiler of the build does the same when it compiles the tests.
set -eu

root=$1 compiler=$2
shift 2
here=$(dirname "$0")
if ! command -v "$compiler" >/dev/null; then
  echo "skipped: $compiler is not installed; the compiler of this build found no fault"
  exit 77
fi
for source in "$here"/*_test.cc; do
  # Other headers (GoogleTest, the ranks) count as system headers.
  "$compiler" -std=c++20 "$@" -Werror -fsyntax-only -I "$root/include" -isystem "$root/lib" -isystem "$root/tests" \
    "$source" || { echo "$source does not compile by $compiler" >&2; exit 1; }
done
echo "coll.hpp: $("$compiler" --version | head -n 1)"
