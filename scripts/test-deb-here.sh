#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds the Debian packages and tests them on this system, which it changes: installs build dependencies, builds twice
# and compares, checks with lintian and for hardening, upgrades from a build of the previous commit while jobs run
# (test-upgrade-here.sh), runs the tests of packages/debian/tests, removes and purges.
#
#   scripts/test-deb-here.sh
#
# Copies the packages to /result where that exists. Needs root; for a root that is thrown away afterwards:
# `make test-deb SYSTEM=12|13|sid` makes one.
set -euo pipefail

checkout=$(cd "$(dirname "$0")/.." && pwd)
say() { printf 'test-deb: %s\n' "$*"; }
die() { printf 'test-deb: %s\n' "$*" >&2; exit 1; }
case ${1:-} in -h | --help) sed -n '4,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;; esac
[ "$(id -u)" -eq 0 ] || die "needs root: it installs packages"
export DEBIAN_FRONTEND=noninteractive

say "installing what tests them"
apt-get -qq update
apt-get -qq install -y --no-install-recommends lintian autopkgtest git >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build SOURCE OUTPUT [OPTION]: builds the packages of that checkout.
build() {
  "$1/scripts/make-deb.sh" "${@:3}" "$2" >"$work/log" 2>&1 || { tail -n 50 "$work/log"; die "the packages of $1 do not build"; }
}
say "building"
build "$checkout" "$work/first" --needs
say "building again"
# With a compiler cache, too, everything is compiled twice.
CCACHE_RECACHE=1 build "$checkout" "$work/second"
for deb in "$work"/first/*.deb; do
  cmp "$deb" "$work/second/$(basename "$deb")" || die "two builds of $(basename "$deb") differ"
done
rm -r "$work/second"

say "building the previous commit, as another version with another layout number"
git=(git -c "safe.directory=*")
"${git[@]}" clone --quiet --no-hardlinks "$checkout" "$work/previous"
"${git[@]}" -C "$work/previous" checkout --quiet HEAD^
protocol=$(sed -n 's/.* protocol = \([0-9]*\);/\1/p' "$work/previous/lib/comm/introduction.h")
sed -i "s/ protocol = $protocol;/ protocol = $((protocol + 1000));/" "$work/previous/lib/comm/introduction.h"
sed -i '1s/)/~previous)/' "$work/previous/packages/debian/changelog"
"${git[@]}" -C "$work/previous" -c user.name=test -c user.email=test@invalid.example commit --quiet --all --message previous
build "$work/previous" "$work/older"
rm -r "$work/previous"

say "lintian"
lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$work"/first/*.changes

say "hardening"
mkdir "$work/files"
for deb in "$work"/first/*.deb; do
  case $deb in *-dbgsym_*) continue ;; esac
  dpkg-deb -x "$deb" "$work/files"
done
binaries=0
while read -r file; do
  head -c 4 "$file" | grep -q ELF || continue
  binaries=$((binaries + 1))
  facts=$(readelf -Whld --dyn-syms "$file")
  for fact in 'Type: *DYN' GNU_RELRO BIND_NOW __stack_chk_fail; do
    grep -q "$fact" <<<"$facts" || die "${file#"$work/files"} lacks $fact"
  done
  for fact in 'GNU_STACK.*RWE' RPATH RUNPATH; do
    ! grep "$fact" <<<"$facts" || die "${file#"$work/files"} has $fact"
  done
done < <(find "$work/files" -type f)
expected=6
[[ " ${DEB_BUILD_PROFILES:-} " != *" pkg.libcoll.notorch "* ]] || expected=5
[ "$binaries" = "$expected" ] || die "$binaries binaries, not library, collctl, three shims and the backend of torch"
rm -r "$work/files"

"$checkout/scripts/test-upgrade-here.sh" "$work/older" "$work/first"

say "tests of packages/debian/tests"
mkdir "$work/unpacked"
tar -C "$work/unpacked" --strip-components=1 -xf "$work"/first/*.orig.tar.gz
cp -r "$work/unpacked/packages/debian" "$work/unpacked/debian"
mapfile -t debs < <(find "$work/first" -name '*.deb' -not -name '*-dbgsym_*')
autopkgtest --no-built-binaries --output-dir "$work/tests" "${debs[@]}" "$work/unpacked/" -- null >"$work/log" 2>&1 ||
  { tail -n 120 "$work/log"; die "a test failed"; }
cat "$work/tests/summary"

say "removing and purging"
mapfile -t packages < <(for deb in "${debs[@]}"; do dpkg-deb -f "$deb" Package; done)
apt-get -qq remove -y "${packages[@]}" >"$work/log" 2>&1 || { tail -n 50 "$work/log"; die "the packages cannot be removed"; }
# apt does not find packages of which no file is left.
dpkg --purge "${packages[@]}" >"$work/log" 2>&1 || { tail -n 50 "$work/log"; die "the packages cannot be purged"; }
# The group stays, as Debian requires: files may belong to it.
left=$(find / -xdev \( -path "$checkout" -o -path "$work" -o -path /proc -o -path '/usr/src/*headers*' \) -prune -o \
  \( -name '*libcoll*' -o -name '*kcoll*' -o -name '*collctl*' -o -path '*/dist-packages/coll*' -o \
     -path '*/dist-packages/torch_coll*' \) -print)
[ -z "$left" ] || die "left behind: $left"
left=$(dpkg-query -W -f '${Package} ${Status}\n' "${packages[@]}" 2>/dev/null | grep -v ' not-installed$' || true)
[ -z "$left" ] || die "dpkg still knows $left"
[ ! -d /result ] || cp "$work"/first/* /result/
say passed
