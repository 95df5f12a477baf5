#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Cross-compiles the HEAD of this checkout for 64-bit Arm in a minimal Debian root, and runs its tests there under
# qemu-user: scripts/test-arm64-here.sh. Its last line says whether that passed.
#
#   scripts/test-arm64.sh [--mpi] [SYSTEM]
#
#   --mpi    builds and tests the MPI shims, with Open MPI and MPICH for arm64
#   SYSTEM   12, 13 (the default) or sid (unstable)
#
# Needs root and debootstrap, as scripts/clean-root.sh does, whose --help lists the variables for its directories, and
# Linux 6.7. Uses this user's compiler cache if ccache is installed.
set -euo pipefail

scripts=$(cd "$(dirname "$0")" && pwd)
die() { printf 'test-arm64: %s\n' "$*" >&2; exit 2; }

# shellcheck source=debian-root.sh
. "$scripts/debian-root.sh"

case ${1:-} in -h | --help) sed -n '4,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;; esac
target=test-arm64-here
if [ "${1:-}" = --mpi ]; then
  target=test-arm64-mpi-here
  shift
fi
[ $# -le 1 ] || die "too many arguments; see --help"
system=${1:-13}
need_systems "$system"
suite=$(suite_of "$system")
options=()
! command -v ccache >/dev/null || options+=(--ccache)

result=$(mktemp -d)
trap 'rm -rf "$result"' EXIT
status=0
"$scripts/clean-root.sh" --suite "$suite" --namespaces --result "$result" "${options[@]}" "$target" || status=$?
[ "$status" -eq 0 ] && verdict=passed || verdict=FAILED
summary=$(cat "$result/summary" 2>/dev/null || echo 'no test ran')
printf 'test-arm64: %-4s %s (%d s): %s\n' "$system" "$verdict" "$SECONDS" "$summary"
exit "$status"
