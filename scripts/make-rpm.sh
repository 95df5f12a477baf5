#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds the RPM packages of this checkout's HEAD by packages/rpm/libcoll.spec. On Debian it passes the macros of Fedora
# that the spec uses and Debian's rpm lacks, and the wrapper compilers by Debian's names: that shows that the spec
# installs and lists every file, not that the packages serve on Debian.
#
#   scripts/make-rpm.sh [OUTPUT]
#
#   OUTPUT   directory for the packages, default build/rpm; what it held before is removed
#
# Needs rpmbuild (Debian: rpm) and what packages/debian.txt lists. Takes objects from ccache if that is installed.
set -euo pipefail

checkout=$(cd "$(dirname "$0")/.." && pwd -P)
die() { printf 'make-rpm: %s\n' "$*" >&2; exit 2; }
case ${1:-} in -h | --help) sed -n '4,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;; esac
[ $# -le 1 ] || die "too many arguments; see --help"
output=$(realpath -m "${1:-$checkout/build/rpm}")
command -v rpmbuild >/dev/null || die "rpmbuild is missing: apt-get install rpm"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

make --no-print-directory -C "$checkout" dist "BUILD=$work" >/dev/null
options=(--define "_topdir $work/rpm" --define "_sourcedir $work" --define "_smp_mflags -j${JOBS:-$(nproc)}")
if [ "$(rpm --eval '%{?cmake:yes}')" != yes ]; then
  options+=(
    --nodeps  # rpm knows of no package here
    --define '_lib lib64'
    --define '_libdir %{_prefix}/lib64'
    --define '_udevrulesdir %{_prefix}/lib/udev/rules.d'
    --define '_sysusersdir %{_prefix}/lib/sysusers.d'
    --define 'python3_sitelib %{_prefix}/lib/python3/dist-packages'
    --define 'cmake cmake -B build -DCMAKE_INSTALL_PREFIX=%{_prefix} -DCMAKE_INSTALL_LIBDIR=%{_lib}'
    --define 'cmake_build cmake --build build %{_smp_mflags}'
    --define 'cmake_install DESTDIR=%{buildroot} cmake --install build'
    --define 'openmpi_cc mpicc.openmpi'
    --define 'mpich_cc mpicc.mpich'
  )
fi
if command -v ccache >/dev/null; then
  CMAKE_C_COMPILER_LAUNCHER="env;CCACHE_BASEDIR=$work;CCACHE_NOHASHDIR=1;ccache"
  export CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER=$CMAKE_C_COMPILER_LAUNCHER
fi
rpmbuild -bb "${options[@]}" "$checkout/packages/rpm/libcoll.spec" >"$work/log" 2>&1 ||
  { tail -n 60 "$work/log"; die "rpmbuild fails"; }
mkdir -p "$output"
find "$output" -mindepth 1 -delete
find "$work/rpm/RPMS" -name '*.rpm' -exec mv {} "$output/" \;
printf 'packages: %s\n' "$output"
