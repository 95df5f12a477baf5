#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the kernel's own scripts on kmod/ and its public header; prints one line per finding.
#
#   tests/kmod/style.sh checkpatch   checkpatch.pl --strict, but for the lines of checkpatch-exceptions
#   tests/kmod/style.sh kernel-doc   malformed kernel-doc comments
#
# checkpatch.pl comes with the source of a debug kernel, kernel-doc with Debian's header packages; both are looked for in
# the cache of scripts/vm and below /usr. 77: not here.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=../../scripts/vm/common.sh
. "$top/scripts/vm/common.sh"
cd "$top"
files=(kmod/*.[ch] include/uapi/kcoll.h)

# newest NAME PLACE...: prints the path of that script in the newest kernel.
newest() {
    local name=$1 found
    shift
    found=$(find "$@" -maxdepth 3 -path "*/scripts/$name" 2> /dev/null | sort -V | tail -1) || true
    [ -n "$found" ] || cannot "$name is not in the cache; $missing"
    echo "$found"
}

case ${1:-} in
checkpatch)
    need perl
    missing='make test-kmod-debug fetches the source of a kernel'
    script=$(newest checkpatch.pl "$cache/src" /usr/src)
    status=0
    # Its exit status has no information beyond its output.
    found=$(perl "$script" --no-tree --strict --terse --show-types --max-line-length=100 -f "${files[@]}" 2>&1) || true
    grep -q '^total: .* lines checked$' <<< "$found" || { echo "$found"; exit 1; }
    awk -v exceptions="$here/checkpatch-exceptions" '
        BEGIN {
            while ((getline line < exceptions) > 0) {
                sub(/ *#.*/, "", line)
                if (line != "") { listed[line] = 1; unused[line] = 1 }
            }
        }
        /^total: / { next }
        match($0, /: (ERROR|WARNING|CHECK):[A-Z_]+: /) {
            split(substr($0, RSTART + 2), parts, ":")
            key = substr($0, 1, index($0, ":") - 1) " " parts[2]
            if (key in listed) { delete unused[key]; next }
        }
        { print; bad = 1 }
        END {
            for (key in unused) print "no longer needed in checkpatch-exceptions: " key
            exit bad
        }' <<< "$found" || status=1
    [ $status = 0 ] && echo "${#files[@]} files: nothing but what checkpatch-exceptions lists"
    exit $status
    ;;
kernel-doc)
    need perl
    missing='make kmod fetches the headers of a kernel'
    script=$(newest kernel-doc "$cache"/*/root/usr/lib/linux-kbuild-* /usr/lib/linux-kbuild-*)
    # Linux 6.1 has no -Wall, and warns of fewer things.
    warnings=()
    ! grep -q -- -Wall "$script" || warnings=(-Wall)
    found=$(perl "$script" -none "${warnings[@]}" "${files[@]}" 2>&1) || true
    [ -z "$found" ] || { echo "$found"; exit 1; }
    echo "$(cat "${files[@]}" | grep -c '^/\*\*$') comments in ${#files[@]} files"
    ;;
*)
    sed -n '3,9s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
