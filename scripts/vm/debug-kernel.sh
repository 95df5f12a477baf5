#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds a debug kernel from Debian's kernel source into the cache, once.
#
#   scripts/vm/debug-kernel.sh debug|kcsan|debug-SERIES|kcsan-SERIES
#
# debug: KASAN, UBSAN, lockdep, kmemleak, debug objects, fault injection.   kcsan: the data race detector.
# SERIES is one of Debian's linux-source packages, such as 6.12; without it 6.1.
# About 12 CPU minutes each; a second call finds the first one's result. The kernel is as small as the
# fragments in config/ allow. JOBS=N chooses the parallelism (default: all processors, niced).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=common.sh
. "$here/common.sh"
name=${1:-debug}
series=6.1
[[ $name != *-* ]] || series=${name#*-}
case $name in
debug | debug-*) fragments=(base kasan lock guest) ;;
kcsan | kcsan-*) fragments=(base kcsan guest) ;;
*) echo "usage: $0 debug|kcsan|debug-SERIES|kcsan-SERIES" >&2; exit 2 ;;
esac

into=$cache/$name
[ -e "$into/complete" ] && exit 0
need flex bison bc cpio make gcc flock:util-linux
lock "$name"
[ -e "$into/complete" ] && exit 0

source=$cache/src/$series
if [ ! -e "$source/Makefile" ]; then
    say "fetching linux-source-$series"
    rm -rf "$source" && mkdir -p "$source/package"
    (cd "$source/package" && apt-get download -q "linux-source-$series" >&2) ||
        cannot "linux-source-$series cannot be downloaded here"
    dpkg -x "$source"/package/*.deb "$source/package"
    tar -C "$source" --strip-components=1 -xf "$source/package/usr/src/linux-source-$series.tar.xz"
    rm -rf "$source/package"
fi

say "building the $name kernel in $into (about 12 CPU minutes)"
mkdir -p "$into/build"
for fragment in "${fragments[@]}"; do cat "$here/config/$fragment.config"; done > "$into/fragments"
make -C "$source" O="$into/build" KCONFIG_ALLCONFIG="$into/fragments" allnoconfig > "$into/config.log" 2>&1
# Print each option that Kconfig could not set: a check that should be on would be off.
grep '=y$' "$into/fragments" | while read -r line; do
    grep -qx "$line" "$into/build/.config" || say "config: $line was not taken"
done
nice -n 19 make -C "$source" O="$into/build" -j"${JOBS:-$(nproc)}" bzImage modules > "$into/build.log" 2>&1 ||
    { tail -30 "$into/build.log" >&2; exit 1; }
ln -sfn build/arch/x86/boot/bzImage "$into/vmlinuz"
ln -sfn build "$into/headers"
make -s -C "$source" O="$into/build" kernelrelease > "$into/release" 2>/dev/null
touch "$into/complete"
