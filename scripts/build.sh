#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# build.sh DIRECTORY JOBS [CMAKE OPTION...]: configures DIRECTORY and builds everything in it.
# Quiet when all is well; a failed step shows what it printed.
set -eu

directory=$1 jobs=$2
shift 2
source=$(cd "$(dirname "$0")/.." && pwd)

if command -v ccache >/dev/null 2>&1; then
  # So that a checkout finds what another one has compiled.
  ccache="env;CCACHE_BASEDIR=$source;CCACHE_NOHASHDIR=1;ccache"
  set -- -DCMAKE_C_COMPILER_LAUNCHER="$ccache" -DCMAKE_CXX_COMPILER_LAUNCHER="$ccache" "$@"
fi
# A directory that was configured with another generator keeps it.
[ -e "$directory/CMakeCache.txt" ] || set -- -G Ninja "$@"

printf '== build %s\n' "$directory"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! cmake -S "$source" -B "$directory" "$@" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
# What was left out is worth a line even when all is well.
grep -E '^-- (libcoll: |MPI shim .*: no)' "$log" || true
if [ -t 1 ]; then
  # Someone watches: show the progress.
  rm -f "$log"
  exec cmake --build "$directory" --parallel "$jobs"
fi
if ! cmake --build "$directory" --parallel "$jobs" >"$log" 2>&1; then
  cat "$log" >&2
  printf '== build %s failed\n' "$directory" >&2
  exit 1
fi
