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
# shellcheck source=systems.sh
. "$scripts/systems.sh"

case ${1:-} in -h | --help) sed -n '4,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;; esac
[ $# -le 2 ] || die "too many arguments; see --help"
systems=(${1:-12 13 sid})
compilers=(${2:-gcc clang})
need_systems "${systems[@]}"
for compiler in "${compilers[@]}"; do
  case $compiler in gcc | clang) ;; *) die "unknown compiler '$compiler': use gcc or clang" ;; esac
done
options=()
! command -v ccache >/dev/null || options+=(--ccache)

for system in "${systems[@]}"; do
  for compiler in "${compilers[@]}"; do
    in_system "$system" "$compiler" --compiler "$compiler" "${options[@]}" check
  done
  in_system "$system" module --packages "linux-headers-$(dpkg --print-architecture)" --only module-here
done
end_with_results test-systems
