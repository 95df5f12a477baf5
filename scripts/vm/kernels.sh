#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Brings a Debian kernel (image and headers) into a cache outside the tree, without installing it.
#
#   scripts/vm/kernels.sh KERNEL...
#
#   6.1, 6.12, ...           the newest kernel of that series in the release that this machine runs
#   trixie-backports, sid    the newest kernel of that suite
#
# Afterwards CACHE/KERNEL holds: vmlinuz, release (its version) and modules/ (lib/modules/RELEASE).
# For a series it also holds headers/ (the value of KDIR=): Debian's header packages name absolute
# paths under /usr, which are rewritten to the cache. For a suite it also holds system/, a root of
# that release with its headers and compiler, because their build tools need its C library. Nothing is
# installed on this machine, and its boot configuration does not change. Exit status 77: the kernel is
# not available.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=common.sh
. "$here/common.sh"
apt=(-o Acquire::Languages=none -o APT::Sandbox::User=root)

# Fetches the suites' package lists into the cache, for machines whose own lists are missing or too old.
use_own_lists() {
    say "fetching package lists into the cache"
    mkdir -p "$cache/apt/lists/partial" "$cache/apt/archives/partial"
    apt+=(-o "Dir::State::Lists=$cache/apt/lists" -o "Dir::Cache=$cache/apt")
    # A source that cannot be reached may not be needed.
    apt-get "${apt[@]}" -q update >&2 || true
}

# The newest kernel of a series that the configured suites offer.
newest_image() {
    local pattern
    case $1 in
    6.1) pattern='^linux-image-6\.1\.0-[0-9]+-amd64$' ;;
    *) pattern="^linux-image-${1//./\\.}\.[0-9]+(\+(deb[0-9]+(\.[0-9]+)?|bpo))?-amd64\$" ;;
    esac
    apt-cache "${apt[@]}" search --names-only "$pattern" | awk '{print $1}' | sort -V | tail -1
}

# Every header package an image needs: the flavour's, the common one, and the build tools.
header_packages() {
    local flavour=linux-headers-${1#linux-image-}
    echo "$flavour"
    apt-cache "${apt[@]}" depends "$flavour" | awk '/Depends: linux-(headers|kbuild)/ {print $2}'
}

# download SERIES DIRECTORY
download() {
    local image
    image=$(newest_image "$1")
    [ -n "$image" ] || return 1
    say "fetching $image"
    rm -f "$2"/*
    # shellcheck disable=SC2046
    (cd "$2" && apt-get "${apt[@]}" download -q "$image" $(header_packages "$image") >&2)
}

# fetch_series SERIES DIRECTORY
fetch_series() {
    local series=$1 into=$2 release
    mkdir -p "$into/packages" "$into/root"
    if ! download "$series" "$into/packages"; then
        use_own_lists
        download "$series" "$into/packages" || cannot "no kernel of the $series series can be downloaded here"
    fi
    release=$(basename "$into/packages"/linux-image-*.deb | sed 's/^linux-image-//; s/_.*//')
    for package in "$into"/packages/*.deb; do dpkg -x "$package" "$into/root"; done
    rm -rf "$into/root/usr/share/doc"

    local headers=$into/root/usr/src/linux-headers-$release
    ln -s "root/usr/src/linux-headers-$release" "$into/headers"
    find "$into/root/usr/src" -maxdepth 2 -name Makefile -exec sed -i "s#/usr/src/#$into/root/usr/src/#g" {} +
    # Symbolic links that point into /usr/lib/linux-kbuild-*.
    find "$into/root/usr/src" -type l | while read -r link; do
        target=$(readlink "$link")
        case $target in /usr/*) ln -sfn "$into/root$target" "$link" ;; esac
    done
    ln -sfn "$headers" "$into/root/lib/modules/$release/build"
    # Without it, no type information of modules is made, which would need pahole.
    rm -f "$into/root/lib/modules/$release/source" "$headers/vmlinux"
    echo "$release" > "$into/release"
}

# fetch_suite SUITE DIRECTORY
fetch_suite() {
    local suite=$1 into=$2 reason status=0
    need unshare:util-linux dpkg
    reason=$("$here/system.sh" make "$suite" "$into/system" 2>&1 >&2) || status=$?
    [ "$status" = 0 ] || cannot "no kernel of $suite can be installed here: $(tail -1 <<< "$reason")"
    mkdir -p "$into/root"
    for package in "$into"/system/kernel/*.deb; do dpkg -x "$package" "$into/root"; done
    rm -rf "$into/system/kernel" "$into/root/usr/share/doc"
    # A root of today keeps them under /usr.
    [ -d "$into/root/lib/modules" ] || { mkdir -p "$into/root/lib" && ln -s ../usr/lib/modules "$into/root/lib/modules"; }
    basename "$into"/root/lib/modules/* > "$into/release"
}

fetch() {
    local kernel=$1 into=$cache/$1 release
    [ -e "$into/complete" ] && return 0
    need apt-get:apt dpkg depmod:kmod flock:util-linux
    lock "$kernel"
    [ -e "$into/complete" ] && return 0
    rm -rf --one-file-system "$into"
    case $kernel in
    [0-9]*) fetch_series "$kernel" "$into" ;;
    *) fetch_suite "$kernel" "$into" ;;
    esac
    release=$(cat "$into/release")
    rm -rf "$into/packages"
    if [ -e "$into/root/boot/vmlinuz-$release" ]; then
        ln -s "root/boot/vmlinuz-$release" "$into/vmlinuz"
    else
        ln -s "root/lib/modules/$release/vmlinuz" "$into/vmlinuz"
    fi
    ln -s "root/lib/modules/$release" "$into/modules"
    depmod -b "$into/root" "$release"
    touch "$into/complete"
}

for kernel in "$@"; do fetch "$kernel"; done
