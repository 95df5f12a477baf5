#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# fuzz.sh BUILD SECONDS: runs each fuzzer of a build with -DCOLL_FUZZ=ON for this long. New inputs go to
# BUILD/corpus/NAME, with which the next run continues; an input that crashes is kept there as crash-*. Exit status 1 if
# any fuzzer has found a fault.
set -euo pipefail

[ $# -eq 2 ] || { echo 'usage: scripts/fuzz.sh BUILD SECONDS' >&2; exit 2; }
build=$1 seconds=$2 failed=0
source=$(cd "$(dirname "$0")/.." && pwd)
corpus=$source/tests/fuzz/corpus
for name in config settings rules topology table recorded launcher rendezvous; do
  found=$build/corpus/$name
  mkdir -p "$found" "$found.shipped"
  [ ! -d "$corpus/$name" ] || cp "$corpus/$name"/* "$found.shipped/"
  [ ! -e "$corpus/$name.hex" ] || python3 -c '
import pathlib, sys
for line in open(sys.argv[1], encoding="ascii"):
    name, _, text = line.strip().partition(" ")
    pathlib.Path(sys.argv[2], name).write_bytes(bytes.fromhex(text))' "$corpus/$name.hex" "$found.shipped"
  printf '== fuzz %s, %s s\n' "$name" "$seconds"
  status=0
  "$build/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -verbosity=0 -print_final_stats=1 \
    -artifact_prefix="$found/" "$found" "$found.shipped" >"$found.log" 2>&1 || status=$?
  grep -E '^stat::(number_of_executed_units|new_units_added)' "$found.log" || true
  [ "$status" -eq 0 ] && continue
  failed=1
  tail -n 40 "$found.log" >&2
  printf 'fuzz: %s found something; the input is in %s: see tests/fuzz/README.md\n' "$name" "$found" >&2
done
exit "$failed"
