#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests a wheel of the Python module in clean roots of several releases, which get Python and no other package (see
# test-wheel-here.sh), and prints one line for each.
#
#   scripts/test-wheel.sh DIRECTORY [SYSTEM...]
#
#   DIRECTORY   with the wheel
#   SYSTEM      12, 13 or sid (unstable); default: all three. One whose C library is older than that of the system that
#               built the wheel refuses it.
#
# Needs root and debootstrap, as scripts/clean-root.sh does.
set -euo pipefail

scripts=$(cd "$(dirname "$0")" && pwd)
die() { printf 'test-wheel: %s\n' "$*" >&2; exit 2; }
case ${1:-} in -h | --help) sed -n '4,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;; esac
directory=${1:-}
[ "$(find "$directory" -maxdepth 1 -name '*.whl' | wc -l)" = 1 ] || die "not one wheel in '$directory'; see --help"
shift
[ -n "${1:-}" ] || set -- 12 13 sid
# shellcheck source=debian-root.sh
. "$scripts/debian-root.sh"
# shellcheck source=systems.sh
. "$scripts/systems.sh"
need_systems "$@"
for system in "$@"; do
  in_system "$system" '' --packages python3-venv --only --add "$directory" test-wheel-here
done
end_with_results test-wheel
