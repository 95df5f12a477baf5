#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Usage: bench/demo.sh BUILD_DIR [--short]
# Runs an unmodified MPI program on real input with and without libcoll, then measures four collectives from 4 B to
# 16 MiB, in about 90 seconds; --short only runs the program, once. Exits with a non-zero status when a result is wrong
# or differs.
set -eu
here=$(dirname "$0")
build=${1:?usage: $0 BUILD_DIR [--short]}
short=${2:-}
# Other work on the machine disturbs the times; root can raise the priority.
urgent=$(test "$(id -u)" -eq 0 && echo --urgent || true)

echo "== 1. An unmodified MPI program: which airport does the US airline network miss most?"
echo "  All-pairs shortest paths (Floyd-Warshall) on 300 airports and 4748 routes, 301 times, each with one airport"
echo "  closed. Built by the distribution's own mpicc; libcoll comes in by LD_PRELOAD only."
[ "$short" != --short ] || exec python3 -B "$here/driver/programs.py" "$build" apsp --cases 64 --rounds 1
python3 -B "$here/driver/programs.py" "$build" apsp --cases 1,64 $urgent

echo
echo "== 2. Four collectives, 4 B to 16 MiB, side by side in one run"
python3 -B "$here/driver/compare.py" "$build" --rounds 3 --cell-ms 30 $urgent --collectives bcast,reduce,allreduce,alltoall \
  --versus own --only openmpi,mpich,coll+openmpi,coll+mpich
