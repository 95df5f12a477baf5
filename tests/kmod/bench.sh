#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the module costs beside CMA, in a virtual machine: locks and pins per operation on 4 processors, instructions on
# one; then concurrent accesses by each transport, with the locks and pins they take, and a plot of their relative times.
#
#   tests/kmod/bench.sh [6.1|6.12] [COLLCTL [SVG]]   COLLCTL: the built tool, for the second part; SVG: where the plot goes
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=${XDG_CACHE_HOME:-$HOME/.cache}/libcoll/vm/tests
kernel=${1:-6.1} collctl=${2:-} svg=${3:-contention-${1:-6.1}.svg}
make -s --no-print-directory -C "$here" BUILD="$build"
echo "kernel $kernel"
"$top/scripts/vm/run.sh" -k "$kernel" "$build/counts locks"
ICOUNT=1 "$top/scripts/vm/run.sh" -k "$kernel" "$build/counts instructions"

[ -n "$collctl" ] || exit 0
said=$(mktemp)
trap 'rm -f "$said"' EXIT
# The machine sees this machine's files but cannot write them: the plot comes out behind the table. All of it comes by
# one terminal: progress is not shown.
"$top/scripts/vm/run.sh" -k "$kernel" "
    '$(realpath "$collctl")' bench contention -n 4 --pages 1,64 --transport cma,kcoll_copy,kcoll_map,shm --svg /tmp/plot.svg 2> /tmp/errors ||
        { cat /tmp/errors; exit 1; }
    cat /tmp/plot.svg" > "$said" || { cat "$said" >&2; exit 1; }
sed '/^<svg/,$d' "$said"
sed -n '/^<svg/,$p' "$said" | tr -d '\r' > "$svg"
echo "plot: $svg"
