#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Counts per operation, kcoll beside CMA, in a virtual machine: locks and pins on 4 processors, instructions on one.
#
#   tests/kmod/bench.sh [6.1|6.12]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=${XDG_CACHE_HOME:-$HOME/.cache}/libcoll/vm/tests
kernel=${1:-6.1}
make -s --no-print-directory -C "$here" BUILD="$build"
echo "kernel $kernel"
"$top/scripts/vm/run.sh" -k "$kernel" "$build/counts locks"
ICOUNT=1 "$top/scripts/vm/run.sh" -k "$kernel" "$build/counts instructions"
