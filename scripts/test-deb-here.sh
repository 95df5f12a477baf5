#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds the Debian packages and tests them on this system, which it changes: installs build dependencies, builds twice
# and compares, checks with lintian, installs, runs the tests of packages/debian/tests, removes and purges.
#
#   scripts/test-deb-here.sh
#
# For a root that is thrown away afterwards: `make test-deb SYSTEM=12|13|sid` makes one. Needs root.
set -euo pipefail

checkout=$(cd "$(dirname "$0")/.." && pwd)
say() { printf 'test-deb: %s\n' "$*"; }
die() { printf 'test-deb: %s\n' "$*" >&2; exit 1; }
case ${1:-} in -h | --help) sed -n '4,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;; esac
[ "$(id -u)" -eq 0 ] || die "needs root: it installs packages"
export DEBIAN_FRONTEND=noninteractive

say "installing what builds and tests them"
apt-get -qq update
apt-get -qq install -y --no-install-recommends build-essential debhelper lintian autopkgtest >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/source"
cp -r "$checkout/packages/debian" "$work/source/debian"
(cd "$work/source" && apt-get -qq build-dep -y --no-install-recommends . >/dev/null)

say "building"
"$checkout/scripts/make-deb.sh" "$work/first" >"$work/log" 2>&1 || { tail -n 50 "$work/log"; die "the packages do not build"; }
say "building again"
"$checkout/scripts/make-deb.sh" "$work/second" >"$work/log" 2>&1 || { tail -n 50 "$work/log"; die "the second build fails"; }
for deb in "$work"/first/*.deb; do
  cmp "$deb" "$work/second/$(basename "$deb")" || die "two builds of $(basename "$deb") differ"
done

say "lintian"
lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$work"/first/*.changes

say "installing"
apt-get -qq install -y --no-install-recommends "$work"/first/*.deb >"$work/log" 2>&1 ||
  { tail -n 50 "$work/log"; die "the packages cannot be installed"; }

say "tests of packages/debian/tests"
mkdir "$work/unpacked"
tar -C "$work/unpacked" --strip-components=1 -xf "$work"/first/*.orig.tar.gz
cp -r "$work/unpacked/packages/debian" "$work/unpacked/debian"
autopkgtest --no-built-binaries --output-dir "$work/tests" "$work"/first/*.deb "$work/unpacked" -- null >"$work/log" 2>&1 ||
  { tail -n 120 "$work/log"; die "a test failed"; }
cat "$work/tests/summary"

say "removing and purging"
mapfile -t packages < <(for deb in "$work"/first/*.deb; do dpkg-deb -f "$deb" Package; done)
apt-get -qq purge -y "${packages[@]}" >/dev/null
left=$(find /usr /etc /lib /var/lib/dkms \( -name '*libcoll*' -o -name '*kcoll*' -o -name 'collctl*' \) \
  -not -path "$checkout/*" -not -path '/usr/src/*headers*' 2>/dev/null || true)
[ -z "$left" ] || die "left behind: $left"
say passed
