#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Makes Open MPI and MPICH for 64-bit Arm usable on this Debian system: their libraries, headers, Fortran modules and
# launchers, and wrapper compilers that call the cross compilers. It is for a root of its own, after packages of arm64
# have been enabled (scripts/test-arm64-here.sh --mpi).
#
#   scripts/arm64-mpi-here.sh
#
# apt cannot install the development packages: libmpich-dev:arm64 needs the compiler of an arm64 system, and
# libopenmpi-dev:arm64 installs one in the place of the cross compiler. So their files are unpacked, and apt installs
# the libraries that they link, and the client of ssh, without which the launcher of Open MPI does not start.
set -euo pipefail

die() { printf 'arm64-mpi: %s\n' "$*" >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || die "needs root, to install packages of another architecture"
triplet=aarch64-linux-gnu
packages=(libopenmpi-dev openmpi-bin libmpich-dev mpich)

# libraries PACKAGE...: the libraries of arm64 that the packages link, without those for development.
libraries() {
  local package
  for package in "$@"; do
    apt-cache show --no-all-versions "$package:arm64" | sed -n 's/^Depends: //p' | tr ',' '\n'
  done | sed 's/^ *//; s/[ :(|].*//' | grep '^lib' | grep -v -e '-dev$' -e '^libjs-' | sort -u | sed 's/$/:arm64/'
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mapfile -t needed < <(libraries "${packages[@]}")
[ ${#needed[@]} -gt 0 ] || die "apt does not know ${packages[*]} for arm64"
DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "gfortran-$triplet" openmpi-common \
  openssh-client "${needed[@]}" >"$work/log" 2>&1 || { cat "$work/log" >&2; die "the libraries cannot be installed"; }
(cd "$work" && apt-get -q download "${packages[@]/%/:arm64}") >"$work/log" 2>&1 || { cat "$work/log" >&2; die "cannot download"; }
for package in "$work"/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar -C / --keep-directory-symlink -x ./usr
done

# wrapper NAME COMPILER FLAG...: a wrapper compiler that adds the flags.
wrapper() {
  local name=$1 compiler=$triplet-$2
  shift 2
  cat >"/usr/local/bin/$name" <<WRAPPER
#!/bin/sh
case " \$* " in *" -show "*) echo "$compiler $*"; exit ;; esac
exec $compiler "\$@" $*
WRAPPER
  chmod 755 "/usr/local/bin/$name"
}
lib=/usr/lib/$triplet
openmpi=("-I$lib/openmpi/include" "-L$lib/openmpi/lib")
mpich=("-I/usr/include/$triplet/mpich")
# Debian keeps the modules of each Fortran compiler apart, and for Open MPI its libraries, too.
modules() { printf -- '-I%s\n' "$lib"/fortran/gfortran-mod-*/"$1"; }
wrapper mpicc.openmpi gcc "${openmpi[@]}" -lmpi
wrapper mpif90.openmpi gfortran "${openmpi[@]}" "$(modules openmpi)" "-L$lib/fortran/gfortran" \
  -lmpi_usempif08 -lmpi_usempi_ignore_tkr -lmpi_mpifh -lmpi
wrapper mpicc.mpich gcc "${mpich[@]}" -lmpich
wrapper mpif90.mpich gfortran "${mpich[@]}" "$(modules mpich)" -lmpichfort -lmpich
