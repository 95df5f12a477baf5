#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build.sh DIRECTORY JOBS [-t TARGET] [CMAKE OPTION...]: configures DIRECTORY and builds TARGET in it (default: all). A
# terminal shows the progress of the build; otherwise progress.sh prints a line every ten seconds or more. The output of
# a failed step is shown.
set -euo pipefail

[ $# -ge 2 ] || { echo 'usage: scripts/build.sh DIRECTORY JOBS [-t TARGET] [CMAKE OPTION...]' >&2; exit 2; }
directory=$1 jobs=$2 target=all
shift 2
if [ "${1:-}" = -t ]; then
  target=$2
  shift 2
fi
source=$(cd "$(dirname "$0")/.." && pwd)

if command -v ccache >/dev/null 2>&1; then
  # Lets a checkout use what another one has compiled.
  ccache="env;CCACHE_BASEDIR=$source;CCACHE_NOHASHDIR=1;ccache"
  set -- -DCMAKE_C_COMPILER_LAUNCHER="$ccache" -DCMAKE_CXX_COMPILER_LAUNCHER="$ccache" "$@"
fi
# A directory that was configured with another generator keeps it.
[ -e "$directory/CMakeCache.txt" ] || set -- -G Ninja "$@"

what=''
[ "$target" = all ] || what=" ($target)"
printf '== build %s%s\n' "$directory" "$what"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! cmake -S "$source" -B "$directory" "$@" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
# Print what CMake leaves out, even if all is well.
grep -E '^-- (libcoll: |MPI shim .*: no)' "$log" || true
build=(cmake --build "$directory" --parallel "$jobs" --target "$target")
if [ -t 1 ]; then
  # A terminal: show the progress.
  rm -f "$log"
  exec "${build[@]}"
fi
if ! "${build[@]}" 2>&1 | "$source/scripts/progress.sh" "$log"; then
  cat "$log" >&2
  printf '== build %s failed\n' "$directory" >&2
  exit 1
fi
