#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs packaged MPI programs without the shim and with it, in a Debian root (tests/applications). Tests HEAD with the shims
# of this checkout's build directory.
#
#   scripts/test-applications.sh BUILD SYSTEM
#
#   BUILD    the build directory, with libcoll and the shims; the results are written there, too
#   SYSTEM   12, 13 or sid
#
# Environment: MPI4PY   sources of the release of mpi4py that this system packages: its tests are run, too
#
# Needs root and debootstrap, as scripts/clean-root.sh does, and 2 GiB for the programs. The shims are those that were
# built here, so that the root's C library must not be older than this machine's.
set -euo pipefail

scripts=$(cd "$(dirname "$0")" && pwd)
die() { printf 'test-applications: %s\n' "$*" >&2; exit 2; }
[ $# -eq 2 ] || die "usage: scripts/test-applications.sh BUILD SYSTEM; make test-applications SYSTEM=12|13|sid does that"
build=$1
# shellcheck source=debian-root.sh
. "$scripts/debian-root.sh"
need_systems "$2"
suite=$(suite_of "$2")

stage=$build/applications-stage
rm -rf "$stage"
mkdir -p "$stage" "$build/applications"
cmake --install "$build/lib/api" --prefix "$stage" >/dev/null
cmake --install "$build/lib/mpi" --prefix "$stage" >/dev/null
if [ -n "${MPI4PY:-}" ]; then
  [ -d "$MPI4PY/test" ] || die "MPI4PY=$MPI4PY has no directory test"
  cp -r "$MPI4PY/test" "$stage/test"
fi

# python3-petsc4py alone does not import: petsc-dev and slepc-dev install the links /usr/lib/petsc and /usr/lib/slepc.
packages="python3 openmpi-bin mpich lammps cp2k quantum-espresso petsc-dev slepc-dev python3-petsc4py python3-slepc4py
  nwchem-openmpi nwchem-mpich python3-mpi4py python3-numpy libhwloc15 liburing2"
[ "$suite" = sid ] || packages+=" scalapack-mpi-test"  # unstable does not have it any more
[ "$suite" != bookworm ] || packages+=" python3-distutils"  # for the tests of mpi4py 3
exec "$scripts/clean-root.sh" --suite "$suite" --packages "$packages" --only --add "$stage" \
  --result "$build/applications" test-applications-here
