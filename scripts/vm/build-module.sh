#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds kcoll.ko for a kernel of the cache, outside the source tree, and prints where it is. A warning is an error,
# of the compiler (W=1) and of sparse, where that is installed.
#
#   scripts/vm/build-module.sh KERNEL [make arguments, such as C=2: sparse also for what is up to date]
# KERNEL: what debug-kernel.sh or kernels.sh takes. For the kernel of another release the compiler and the build tools are
# of that release. KCOLL_UAPI_VERSION=N: as a module of that version of the interface, beside the other.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=common.sh
. "$here/common.sh"
kernel=$1
shift
case $kernel in
debug* | kcsan*) "$here/debug-kernel.sh" "$kernel" ;;
*) "$here/kernels.sh" "$kernel" ;;
esac
need make gcc flock:util-linux
lock "module-$kernel"

stage=$cache/module/$kernel
if [ -n "${KCOLL_UAPI_VERSION:-}" ]; then
    changed=$(mktemp -d)
    trap 'rm -rf "$changed"' EXIT
    mkdir -p "$changed/include/uapi"
    ln -s "$top/kmod" "$changed/kmod"
    sed "s/^#define KCOLL_VERSION .*/#define KCOLL_VERSION $KCOLL_UAPI_VERSION/" "$top/include/uapi/kcoll.h" \
        > "$changed/include/uapi/kcoll.h"
    stage+=-version-$KCOLL_UAPI_VERSION top=$changed
fi
copy_sources "$top" "$stage"
log=$stage/build.log
checks=(W=1)
system=$cache/$kernel/system
if [ -d "$system" ]; then
    # Without sparse: Debian's headers of Linux 7 lack a script that make C=1 needs.
    build=("$here/system.sh" run "$system" "$stage" make -C "/lib/modules/$(cat "$cache/$kernel/release")/build" M=/stage/kmod)
else
    build=(make -C "$cache/$kernel/headers" "M=$stage/kmod")
    if command -v sparse > /dev/null; then
        checks+=(C=1)
    else
        say "sparse is not installed: the module is built without its checks"
    fi
fi
make_module "$log" "${build[@]}" "${checks[@]}" "$@" || exit 1
echo "$stage/kmod/kcoll.ko"
