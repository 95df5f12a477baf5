#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# refused.sh SOURCE_ROOT: $CXX and clang++ refuse the marked lines of refused.cc, and name the concept that does not hold.
set -eu

root=$1
source=$(dirname "$0")/refused.cc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The message of an error ends at the next error.
refuses() {
  ! "$@" -std=c++20 -fsyntax-only -I "$root/include" "$source" 2>"$work/log" || { echo "$1 accepts $source" >&2; exit 1; }
  awk -v compiler="$1" '
    FNR == NR {
      if (match($0, /refused: [A-Za-z_]+$/)) { word[FNR] = substr($0, RSTART + 9); marked++ }
      next
    }
    /refused\.cc:[0-9]+:[0-9]+: error: / {
      match($0, /refused\.cc:[0-9]+/); line = substr($0, RSTART + 11, RLENGTH - 11) + 0
      seen[line] = 1
      if (!(line in word)) { print compiler ": line " line " is an error and should not be"; bad = 1 }
    }
    line in word && index($0, word[line]) { named[line] = 1 }
    END {
      for (l in word)
        if (!(l in named)) { print compiler ": line " l (l in seen ? ": the error does not name " word[l] : ": is accepted"); bad = 1 }
      if (marked == 0) { print "no line is marked: this check would see nothing"; bad = 1 }
      if (!bad) print compiler ": " marked " lines refused"
      exit bad
    }' "$source" "$work/log"
}

refuses "${CXX:-c++}"
if ! command -v clang++ >/dev/null; then
  echo "skipped: clang++ is not installed (Debian: clang); ${CXX:-c++} refuses what it should"
  exit 77
fi
refuses clang++ -ferror-limit=0
