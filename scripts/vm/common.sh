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

# copy_sources TREE STAGE: Kbuild writes beside the sources, so it gets a copy of them, of which only what differs is
# written: make then sees what changed, also where another checkout, with older files, was built last.
copy_sources() {
    local top=$1 stage=$2 file
    mkdir -p "$stage/include/uapi" "$stage/kmod"
    for file in "$stage"/kmod/*.[ch]; do
        [ -e "$file" ] && [[ $file != *.mod.c ]] && [ ! -e "$top/kmod/${file##*/}" ] && rm "$file"
    done
    for file in include/uapi/kcoll.h "$top"/kmod/*.[ch] kmod/Kbuild; do
        file=${file#"$top"/}
        cmp -s "$top/$file" "$stage/$file" || cp "$top/$file" "$stage/$file"
    done
}
