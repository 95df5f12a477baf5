# SPDX-License-Identifier: BSD-3-Clause
# What the scripts beside it share; to be sourced.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/libcoll/vm
# depmod and modprobe, which ordinary users do not find.
PATH=$PATH:/usr/sbin:/sbin

say() { echo "vm: $*" >&2; }

# This machine cannot do it, which is no fault of the sources: tests that ask are skipped.
cannot() {
    say "$*"
    exit 77
}

# need COMMAND[:PACKAGE]...: all of them, or it cannot be done here.
need() {
    local word packages=''
    for word in "$@"; do
        command -v "${word%:*}" > /dev/null || packages+=" ${word#*:}"
    done
    [ -z "$packages" ] || cannot "packages are missing here:$packages"
}

# lock NAME: one at a time in the cache, until this script ends.
lock() {
    mkdir -p "$cache"
    exec 9> "$cache/$1.lock"
    flock 9
}
