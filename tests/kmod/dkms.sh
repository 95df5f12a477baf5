#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# dkms add, build, install, remove for cached kernels, in directories of its own: nothing is installed on this machine.
#
#   tests/kmod/dkms.sh 6.1 6.12
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
. "$top/scripts/vm/common.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! { need dkms && "$top/scripts/vm/kernels.sh" "$@"; } 2> "$work/log"; then
    echo "1..0 # SKIP $(tail -1 "$work/log")"
    exit 77
fi

version=$(awk -F'"' '/^PACKAGE_VERSION/ {print $2}' "$top/dkms.conf")
source=$work/src/kcoll-$version
mkdir -p "$source" "$work/dkms" "$work/modules"
(cd "$top" && cp -r dkms.conf kmod include "$source/")
run() { dkms "$@" --dkmstree "$work/dkms" --sourcetree "$work/src" --installtree "$work/modules" > "$work/log" 2>&1; }

number=0 failures=0
report() {
    number=$((number + 1))
    if [ "$1" = 0 ]; then
        echo "ok $number - $2"
    else
        echo "not ok $number - $2"
        sed 's/^/# /' "$work/log"
        find "$work/dkms" -name make.log -exec tail -20 {} + 2> /dev/null | sed 's/^/# /' || true
        failures=1
    fi
}
step() {
    local name=$1 status=0
    shift
    run "$@" || status=$?
    report $status "$name"
}

step "add" add "kcoll/$version"
for kernel in "$@"; do
    release=$(cat "$cache/$kernel/release")
    mkdir -p "$work/modules/$release"
    which=(-m kcoll -v "$version" -k "$release" --kernelsourcedir "$cache/$kernel/headers")
    step "$kernel build" build "${which[@]}"
    step "$kernel install" install "${which[@]}" --no-depmod --force
    found=0
    find "$work/modules/$release" -name 'kcoll.ko*' | grep -q . || found=1
    report $found "$kernel module is where modprobe looks"
    step "$kernel uninstall" uninstall "${which[@]}" --no-depmod
    found=0
    find "$work/modules/$release" -name 'kcoll.ko*' | grep -q . && found=1
    report $found "$kernel module is gone"
done
step "remove" remove "kcoll/$version" --all
echo "1..$number"
exit $failures
