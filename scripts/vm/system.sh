#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A root of another Debian release, in which the module is built for the kernels of that release: their build tools
# need its C library and its compiler. Needs root and debootstrap; mounts only in a namespace of its own.
#
#   scripts/vm/system.sh make SUITE DIRECTORY            installs compiler and headers of the suite's newest kernel
#                                                        there, and puts the packages of the kernel into kernel/
#   scripts/vm/system.sh run DIRECTORY STAGE COMMAND...  runs a command there; it sees STAGE as /stage
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
say() { echo "vm: $*" >&2; }
die() { say "$*"; exit 77; }
# shellcheck source=../debian-root.sh
. "$here/../debian-root.sh"

run() { unshare --mount --pid --fork --kill-child "$here/system.sh" inside "$@" < /dev/null; }

inside() {
    local root=$1 stage=$2
    shift 2
    mount_root "$root"
    if [ -n "$stage" ]; then
        mkdir -p "$root/stage"
        mount --bind "$stage" "$root/stage"
    fi
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        ${http_proxy:+"http_proxy=$http_proxy"} chroot "$root" "$@"
}

# The newest kernel that has headers, with the packages that its image consists of; in the root.
install_kernel='
    set -eu
    apt-get -qq update
    release=$(apt-cache search --names-only "^linux-headers-[0-9][0-9.]*([+]deb[0-9.]+)?-amd64$" |
        sed "s/ .*//; s/linux-headers-//" | sort -V | tail -1)
    apt-get -qq install -y --no-install-recommends make binutils "linux-headers-$release" > /dev/null
    mkdir kernel && cd kernel
    apt-get -qq -o APT::Sandbox::User=root download \
        $(apt-cache depends "linux-image-$release" | sed -n "s/.* \(linux-.*-$release\)\$/\1/p") "linux-image-$release"
    rm -rf /var/lib/apt/lists/* /var/cache/apt/archives/*.deb
    # Without it, no type information of modules is made.
    rm -f "/usr/src/linux-headers-$release/vmlinux"'

make_system() {
    local name=$1 root=$2
    suite=${name%-backports}
    case $suite in bookworm | trixie | sid) ;; *) die "unknown suite $name" ;; esac
    if reason=$(root_is_impossible); then die "$reason"; fi
    say "making a root of $name with its newest kernel"
    mkdir -p "$root"
    make_root "$root"
    [ "$suite" = "$name" ] || echo "deb $(mirror) $name main" >> "$root/etc/apt/sources.list"
    run "$root" '' sh -c "$install_kernel"
}

verb=$1
shift
case $verb in
make) make_system "$@" ;;
run | inside) "$verb" "$@" ;;
*) die "unknown command $verb" ;;
esac
