#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The cost of the module compared with CMA, in a virtual machine: locks and pins per operation on 4 processors,
# instructions on one; then concurrent accesses by each transport, with their locks and pins, and a page of their
# relative times; then accesses that find no pinned pages, of an owner that maps and unmaps memory meanwhile: with the
# default throttle, with a throttle of two, and without it.
#
#   tests/kmod/bench.sh [6.1|6.12] [COLLCTL [PAGE]]   COLLCTL: the built tool, for the second part; PAGE: the HTML file of
#                                                     collctl report; the records are beside it, as JSON
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=${XDG_CACHE_HOME:-$HOME/.cache}/libcoll/vm/tests
kernel=${1:-6.1} collctl=${2:-} page=${3:-contention-${1:-6.1}.html}
make -s --no-print-directory -C "$here" BUILD="$build"
echo "kernel $kernel"
"$top/scripts/vm/run.sh" -k "$kernel" "$build/counts locks"
ICOUNT=1 "$top/scripts/vm/run.sh" -k "$kernel" "$build/counts instructions"

[ -n "$collctl" ] || exit 0
said=$(mktemp)
trap 'rm -f "$said"' EXIT
# The machine can read this machine's files but not write them: each record is printed after its table. All output goes
# through one terminal, so progress is not shown.
"$top/scripts/vm/run.sh" -k "$kernel" -t 1200 "
    contention() {
        '$(realpath "$collctl")' bench contention \"\$@\" --record /tmp/record.json 2> /tmp/errors ||
            { cat /tmp/errors; exit 1; }
        cat /tmp/record.json
    }
    contention -n 4 --pages 1,64 --transport cma,kcoll_copy,kcoll_map,shm
    echo 2 > /sys/module/kcoll/parameters/pin_mode
    for limit in 0 2; do
        echo \$limit > /sys/module/kcoll/parameters/gate_limit
        printf '\nEvery access pins as a first one does; gate_limit=%d, a busy owner\n' \$limit
        contention -n 8 --busy --pages 64 --pattern one_to_all_apart --transport cma,kcoll_uncached,kcoll_ungated
    done" > "$said" || { cat "$said" >&2; exit 1; }
records=("${page%.html}.json" "${page%.html}-throttle-0.json" "${page%.html}-throttle-2.json")
tr -d '\r' < "$said" | awk -v records="${records[*]}" '
    BEGIN {split(records, file, " ")}
    /^[{]$/ {n++; inside = 1}
    inside {print > file[n]}
    !inside {print}
    /^[}]$/ {inside = 0}'
printf 'record: %s\n' "${records[@]}"
if "$collctl" report -o "$page" --bench "${records[@]}"; then printf 'page: %s\n' "$page"; fi
