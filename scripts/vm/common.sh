# SPDX-License-Identifier: BSD-3-Clause
# Functions of the scripts in this directory; to be sourced.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/libcoll/vm
# depmod and modprobe, which ordinary users do not find.
PATH=$PATH:/usr/sbin:/sbin

say() { echo "vm: $*" >&2; }

# Ends the script because this machine cannot do it, which is no fault of the sources: tests are skipped then.
cannot() {
    say "$*"
    exit 77
}

# need COMMAND[:PACKAGE]...: checks that all commands exist; else the script cannot run here.
need() {
    local word packages=''
    for word in "$@"; do
        command -v "${word%:*}" > /dev/null || packages+=" ${word#*:}"
    done
    [ -z "$packages" ] || cannot "packages are missing here:$packages"
}

# lock NAME: takes a lock in the cache until this script ends.
lock() {
    mkdir -p "$cache"
    exec 9> "$cache/$1.lock"
    flock 9
}

# copy_sources TREE STAGE: copies the sources for Kbuild, which writes into their directories. Only files that differ
# are written, so that make sees what changed, also after a build of another checkout with older files.
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

# make_module LOG MAKE...: builds the module by Kbuild. A warning is an error, also of sparse and W=1, which print
# theirs without failing. Prints only what went wrong.
make_module() {
    local log=$1
    shift
    if ! nice -n 19 "$@" KCFLAGS=-Werror modules > "$log" 2>&1; then
        grep -v '^make\|^  [A-Z]' "$log" >&2
        return 1
    fi
    ! grep -E '(warning|error):' "$log" >&2
}
