#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds the Debian packages of this checkout's HEAD, or of the archive that was unpacked here: a source package and the
# binary packages of this system.
#
#   scripts/make-deb.sh [--needs] [OUTPUT]
#
#   --needs  first install what building them needs, as root
#   OUTPUT   directory for the packages, default build/deb; what it held before is removed
#
# DEB_BUILD_PROFILES=pkg.libcoll.notorch leaves out python3-torch-coll. Without --needs, dpkg-buildpackage names what is
# missing of packages/debian/control.
set -euo pipefail

checkout=$(cd "$(dirname "$0")/.." && pwd -P)
die() { printf 'make-deb: %s\n' "$*" >&2; exit 2; }

case ${1:-} in -h | --help) sed -n '4,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;; esac
needs=
[ "${1:-}" != --needs ] || { needs=yes && shift; }
[ $# -le 1 ] || die "too many arguments; see --help"
output=$(realpath -m "${1:-$checkout/build/deb}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -n "$needs" ]; then
  export DEBIAN_FRONTEND=noninteractive
  mkdir "$work/needs"
  cp -r "$checkout/packages/debian" "$work/needs/debian"
  apt-get -qq install -y --no-install-recommends build-essential debhelper >/dev/null
  (cd "$work/needs" && apt-get -qq build-dep -y --no-install-recommends . >/dev/null)
  rm -r "$work/needs"
fi
command -v dpkg-buildpackage >/dev/null || die "dpkg-buildpackage is missing: apt-get install dpkg-dev debhelper"

version=$(dpkg-parsechangelog -l "$checkout/packages/debian/changelog" -S Version)
upstream=${version%-*}
tree=$work/libcoll-$upstream
archive=$work/libcoll_$upstream.orig.tar.gz
git=(git -c "safe.directory=$checkout" -C "$checkout")
# Two builds of one commit are alike: their times are those of the commit, or, without one, of the changelog.
if [ "$("${git[@]}" rev-parse --show-toplevel 2>/dev/null)" = "$checkout" ]; then
  "${git[@]}" archive --prefix="libcoll-$upstream/" --output="$archive" HEAD
  SOURCE_DATE_EPOCH=$("${git[@]}" log -1 --format=%ct)
else
  SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l "$checkout/packages/debian/changelog" -S Timestamp)
  tar -C "$checkout" --exclude='./build*' --exclude=./.cache --exclude=__pycache__ --transform "s,^\\.,libcoll-$upstream," \
    --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --use-compress-program='gzip -n' -cf "$archive" .
fi
export SOURCE_DATE_EPOCH
tar -C "$work" -xzf "$archive"
cp -r "$tree/packages/debian" "$tree/debian"
(cd "$tree" && dpkg-buildpackage --unsigned-source --unsigned-changes "-j${JOBS:-$(nproc)}")
mkdir -p "$output"
find "$output" -mindepth 1 -delete
find "$work" -maxdepth 1 -type f -exec mv {} "$output/" \;
printf 'packages: %s\n' "$output"
