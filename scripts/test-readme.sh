#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs the lines of README.md that install and use libcoll in clean roots of several releases (see test-readme-here.sh),
# and prints one line for each. Uses the packages that `make test-deb SYSTEM=...` has left in BUILD/deb-SYSTEM.
#
#   scripts/test-readme.sh BUILD [SYSTEM...]
#
#   BUILD    the build directory; --source instead of it: no packages, but the lines that build from source
#   SYSTEM   12, 13 or sid (unstable); default: all three
#
# Needs root and debootstrap, as scripts/clean-root.sh does.
set -euo pipefail

scripts=$(cd "$(dirname "$0")" && pwd)
die() { printf 'test-readme: %s\n' "$*" >&2; exit 2; }
case ${1:-} in -h | --help) sed -n '4,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;; esac
[ $# -ge 1 ] || die "needs a build directory; see --help"
build=$1
shift
[ -n "${1:-}" ] || set -- 12 13 sid
# shellcheck source=debian-root.sh
. "$scripts/debian-root.sh"
# shellcheck source=systems.sh
. "$scripts/systems.sh"
need_systems "$@"
for system in "$@"; do
  [ "$build" = --source ] || [ -n "$(find "$build/deb-$system" -name '*.deb' 2>/dev/null)" ] ||
    die "no packages in $build/deb-$system: make test-deb SYSTEM=$system"
done

for system in "$@"; do
  options=()
  [ "$build" = --source ] || options=(--add "$build/deb-$system")
  in_system "$system" '' "${options[@]}" test-readme-here
done
end_with_results test-readme
