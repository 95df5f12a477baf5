#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests the Debian packages in clean roots of several releases (see test-deb-here.sh) and prints one line for each.
# Leaves those that have passed in BUILD/deb-SYSTEM.
#
#   scripts/test-deb.sh [--build-only] BUILD [SYSTEM...]
#
#   --build-only   build them once, without any test
#   BUILD          a build directory, or another one for the packages
#   SYSTEM         12, 13 or sid (unstable); default: all three
#
# Needs root and debootstrap, as scripts/clean-root.sh does.
set -euo pipefail

scripts=$(cd "$(dirname "$0")" && pwd)
die() { printf 'test-deb: %s\n' "$*" >&2; exit 2; }
case ${1:-} in -h | --help) sed -n '4,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;; esac
target=test-deb-here
[ "${1:-}" != --build-only ] || { target=deb-here && shift; }
[ $# -ge 1 ] || die "needs a directory for the packages; see --help"
build=$1
shift
[ -n "${1:-}" ] || set -- 12 13 sid
# shellcheck source=debian-root.sh
. "$scripts/debian-root.sh"
# shellcheck source=systems.sh
. "$scripts/systems.sh"
need_systems "$@"
options=(--only)
! command -v ccache >/dev/null || options+=(--ccache --packages "ccache")

for system in "$@"; do
  rm -rf "$build/deb-$system"
  in_system "$system" '' --result "$build/deb-$system" "${options[@]}" "$target"
done
end_with_results "${target%-here}"
