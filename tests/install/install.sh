#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# install.sh BUILD VERSION: installs BUILD below a staging directory, moves the tree, and uses it from outside.
# CC and CXX are the compilers; COLL_TOOLS=1 when collctl was built.
set -euo pipefail

build=$1 version=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf 'install: %s\n' "$*" >&2; exit 1; }

# Install as `make install` does, then move the tree: it must not depend on its path.
DESTDIR=$work/stage cmake --install "$build" --strip --prefix /opt/coll >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "cmake --install failed"; }
[ "$(ls "$work/stage")" = opt ] || fail "files outside the prefix: $(cd "$work/stage" && find . -type f -not -path './opt/*')"
mv "$work/stage/opt/coll" "$work/prefix"
prefix=$work/prefix
stray=$(cd "$prefix" && find . -mindepth 1 -maxdepth 1 -not -name bin -not -name include -not -name lib -not -name share -not -name src)
[ -z "$stray" ] || fail "unexpected in the prefix: $stray"
libdir=$(dirname "$(find "$prefix" -name libcoll.so)")
[ -e "$libdir/libcoll.so.0" ] || fail "libcoll.so.0 is not next to libcoll.so"
! find "$prefix" \( -name '*.a' -o -name 'libg*' -o -path '*gtest*' \) | grep . || fail "internal libraries are installed"

# Each file belongs to one of the components that packages/README.md lists.
for component in library development tools shim_openmpi shim_mpich shim_abi module documentation; do
  mkdir -p "$work/parts/$component"
  cmake --install "$build" --strip --prefix "$work/parts/$component" --component "$component" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; fail "cmake --install --component $component failed"; }
  (cd "$work/parts/$component" && find . -not -type d)
done | sort >"$work/in-parts"
(cd "$prefix" && find . -not -type d) | sort | diff - "$work/in-parts" || fail "in no component (<), or in two (>)"
rm -r "$work/parts"

# at_most BYTES FILE: checks the size of an installed and stripped file.
at_most() {
  local size
  size=$(stat -L -c %s "$2")
  printf '%s: %s bytes\n' "$(basename "$2")" "$size"
  [ "$size" -le "$1" ] || fail "$2 has $size bytes, more than $1; nm --size-sort -C shows what is large in the unstripped file"
}
at_most 4000000 "$libdir/libcoll.so"
[ "${COLL_TOOLS:-0}" != 1 ] || at_most 8000000 "$prefix/bin/collctl"

# Build a C11 program with pkg-config.
pc=$(dirname "$(find "$prefix" -name libcoll.pc)")
export PKG_CONFIG_PATH=$pc
[ "$(pkg-config --modversion libcoll)" = "$version" ] || fail "libcoll.pc says version $(pkg-config --modversion libcoll), not $version"
"$CC" -std=c11 -Wall -Wextra -pedantic -Werror $(pkg-config --cflags libcoll) "$here/program/single_rank.c" \
  -o "$work/single_rank_c" $(pkg-config --libs libcoll)
LD_LIBRARY_PATH=$libdir "$work/single_rank_c"

# Build a C++20 program with find_package.
cmake -S "$here/program" -B "$work/program" -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_C_COMPILER="$CC" \
  -DCMAKE_PREFIX_PATH="$prefix" -DEXPECTED_VERSION="$version" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "find_package(libcoll) failed"; }
cmake --build "$work/program" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "the C++ program did not build"; }
"$work/program/single_rank"

# Installed programs and shims find their libcoll.so without LD_LIBRARY_PATH.
for binary in "$prefix"/bin/* "$libdir"/libcoll*.so "$libdir"/libcoll/*.so; do
  [ -e "$binary" ] || continue
  head -c 4 "$binary" | grep -q ELF || continue
  ! ldd "$binary" | grep 'not found' || fail "$binary does not find a library"
done
if [ "${COLL_TOOLS:-0}" = 1 ]; then
  [ -x "$prefix/bin/collctl" ] || fail "collctl is not installed"
  "$prefix/bin/collctl" --version | grep -F "$version" || fail "collctl --version does not say $version"
fi

# Completion scripts offer subcommands and options.
if [ "${COLL_TOOLS:-0}" = 1 ]; then
  completion=$prefix/share/bash-completion/completions/collctl
  offered() { bash -c '. "$1"; shift; compopt() { :; }; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _collctl; echo "${COMPREPLY[*]}"' sh "$completion" "$@"; }
  [ "$(offered collctl calib)" = calibrate ] || fail "bash completes 'collctl calib' to '$(offered collctl calib)'"
  [ "$(offered collctl bench contentio)" = contention ] || fail "bash completes 'collctl bench contentio' to '$(offered collctl bench contentio)'"
  [ "$(offered collctl run --gra)" = --grace ] || fail "bash completes 'collctl run --gra' to '$(offered collctl run --gra)'"
  [ -z "$(offered collctl run --grace --gra)" ] || fail "bash offers options as the value of --grace"
  for shell in zsh fish; do
    file=$(find "$prefix/share/$shell" -type f)
    if command -v "$shell" >/dev/null; then "$shell" -n "$file" || fail "$file is not a script of $shell"
    else echo "skipped: the syntax of $file, because $shell is not installed"
    fi
  done
  if command -v fish >/dev/null; then
    [ "$(XDG_CONFIG_HOME=$work HOME=$work fish -c "source $prefix/share/fish/vendor_completions.d/collctl.fish; complete -C 'collctl bench contentio'" | cut -f1)" = contention ] ||
      fail "fish does not complete 'collctl bench contentio'"
  fi
fi

# The sources of the module are complete: all files that Kbuild names are installed.
module=$(find "$prefix/src" -mindepth 1 -maxdepth 1)
for object in $(sed -n '/^kcoll-y/,/[^\\]$/p' "$module/kmod/Kbuild" | grep -o '[a-z]*\.o'); do
  [ -f "$module/kmod/${object%.o}.c" ] || fail "$module/kmod/${object%.o}.c is missing"
done
[ -f "$module/dkms.conf" ] && [ -f "$module/include/uapi/kcoll.h" ] || fail "$module lacks dkms.conf or uapi/kcoll.h"
