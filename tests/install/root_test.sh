#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds the library and the MPI shims of HEAD with the compiler and the MPI libraries of another Debian release, and runs
# the program of the demo there: `make demo-program` in a root of that release. Skipped, with exit status 77, unless the
# root is cached: making one takes minutes and a network. make test-systems runs more.
#
#   tests/install/root_test.sh SOURCES SYSTEM
set -euo pipefail

sources=$1
scripts=$sources/scripts
die() { printf 'root_test: %s\n' "$*" >&2; exit 2; }
skip() { printf 'skipped: %s\n' "$*"; exit 77; }
# shellcheck disable=SC1091  # scripts/debian-root.sh
. "$scripts/debian-root.sh"
suite=$(suite_of "$2") || die "unknown system '$2'"

if reason=$(root_is_impossible); then skip "$reason"; fi
[ -e "$(base_root)" ] || skip "no root of Debian $2 is cached; make test-systems SYSTEM=$2 makes one"
command -v ccache >/dev/null || skip "without ccache this takes too long; make test-systems SYSTEM=$2 compiles all"
git -c "safe.directory=$sources" -C "$sources" rev-parse -q --verify HEAD >/dev/null || skip "these sources are no git checkout"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
"$scripts/clean-root.sh" --suite "$suite" --ccache demo-program >"$log" 2>&1 || status=$?
# A mirror that cannot be reached is no fault of the sources.
[ "$status" -eq 0 ] || ! grep -Eq '^(E|W): (Failed to fetch|Unable to (fetch|locate)|Unable to connect)' "$log" ||
  skip "the packages of Debian $2 cannot be fetched: $(grep -Em1 '^(E|W): ' "$log")"
tail -n 60 "$log"
exit "$status"
