#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds and checks the HEAD of this checkout on several Debian releases: runs `make check` in a minimal root of each
# release, once with each compiler, and builds the kernel module for the release's kernel. Prints one line per
# combination and exits with status 1 if any of them failed.
#
#   scripts/test-systems.sh [SYSTEM [COMPILER]]
#
#   SYSTEM     12, 13 or sid (unstable); default: all three
#   COMPILER   gcc or clang, as the release packages it; default: both
#
# Needs root and debootstrap, as scripts/clean-root.sh does, whose --help lists the variables for its directories. Uses
# this user's compiler cache if ccache is installed.
set -euo pipefail

scripts=$(cd "$(dirname "$0")" && pwd)
die() { printf 'test-systems: %s\n' "$*" >&2; exit 2; }

# shellcheck source=debian-root.sh
. "$scripts/debian-root.sh"

case ${1:-} in -h | --help) sed -n '4,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;; esac
[ $# -le 2 ] || die "too many arguments; see --help"
systems=(${1:-12 13 sid})
compilers=(${2:-gcc clang})
for system in "${systems[@]}"; do
  suite_of "$system" >/dev/null || die "unknown system '$system': use 12, 13 or sid"
done
for compiler in "${compilers[@]}"; do
  case $compiler in gcc | clang) ;; *) die "unknown compiler '$compiler': use gcc or clang" ;; esac
done
options=()
! command -v ccache >/dev/null || options+=(--ccache)

results=() failed=0
# in_root SYSTEM NAME OPTION... TARGET: runs make in a root of the release.
in_root() {
  local system=$1 name=$2 started=$SECONDS result=passed
  shift 2
  "$scripts/clean-root.sh" --suite "$(suite_of "$system")" "$@" || { result=FAILED failed=1; }
  results+=("$(printf '%-4s %-6s %s (%d s)' "$system" "$name" "$result" $((SECONDS - started)))")
}
for system in "${systems[@]}"; do
  for compiler in "${compilers[@]}"; do
    in_root "$system" "$compiler" --compiler "$compiler" "${options[@]}" check
  done
  in_root "$system" module --packages "linux-headers-$(dpkg --print-architecture)" --only module-here
done
printf 'test-systems: %s\n' "${results[@]}"
exit "$failed"
