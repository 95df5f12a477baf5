#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Packs the Python module with libcoll.so and every library that it links, but for the C library's own, into a wheel
# for all versions of Python 3. Its tag names the oldest C library that it runs with (manylinux_2_34 and so on).
#
#   scripts/make-wheel.sh BUILD OUTPUT
#
#   BUILD    build directory with lib/api/libcoll.so
#   OUTPUT   directory for the wheel
#
# Needs patchelf, objdump, and Python with setuptools and wheel (Debian: patchelf binutils python3-setuptools
# python3-wheel); PYTHON names another than python3.
set -euo pipefail

checkout=$(cd "$(dirname "$0")/.." && pwd)
die() { printf 'make-wheel: %s\n' "$*" >&2; exit 2; }
case ${1:-} in -h | --help) sed -n '4,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;; esac
[ $# -eq 2 ] || die "needs BUILD and OUTPUT; see --help"
library=$(realpath "$1")/lib/api/libcoll.so
output=$(realpath -m "$2")
[ -e "$library" ] || die "$library is not there: build it first (make build)"
for tool in patchelf objdump; do
  command -v "$tool" >/dev/null || die "$tool is missing: apt-get install patchelf binutils"
done
python=${PYTHON:-python3}
"$python" -c 'import setuptools, wheel' 2>/dev/null ||
  die "$(command -v "$python") has no setuptools or no wheel: apt-get install python3-setuptools python3-wheel"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$checkout/python" "$work/python"
find "$work/python" -name __pycache__ -prune -exec rm -r {} +
cp "$checkout/LICENSE" "$work/python/"
inside=$work/python/coll/_lib
mkdir "$inside"
cp -L "$library" "$inside/libcoll.so.0"

# ldd prints "NAME => PATH (ADDRESS)". The C library must be that of the system.
own='^(linux-vdso|ld-linux|libc|libm|libdl|libpthread|librt|libresolv)[.-]'
ldd "$library" | awk '$2 == "=>" { print $1, $3 }' | while read -r name path; do
  [[ ! $name =~ $own ]] || continue
  [ -e "$path" ] || die "$name, which libcoll.so needs, is not installed"
  cp -L "$path" "$inside/$name"
  # Debian keeps each package's licence.
  package=$(dpkg-query -S "$(realpath "$path")" 2>/dev/null | head -n 1 | cut -d: -f1) || true
  [ -z "$package" ] || cp -L "/usr/share/doc/$package/copyright" "$inside/$name.licence"
done
strip --strip-unneeded "$inside"/*.so*[0-9]
for file in "$inside"/*.so*[0-9]; do patchelf --set-rpath "\$ORIGIN" "$file"; done

newest=$(objdump -T "$inside"/*.so*[0-9] | grep -o 'GLIBC_2\.[0-9]*' | sort -uV | tail -n 1)
platform=manylinux_${newest#GLIBC_}
platform=${platform/./_}_$(uname -m)
mkdir -p "$output"
(cd "$work/python" && "$python" -W ignore -c "
import setuptools
setuptools.setup()" -q bdist_wheel --plat-name "$platform" --dist-dir "$output" >/dev/null)
ls "$output"/*.whl
