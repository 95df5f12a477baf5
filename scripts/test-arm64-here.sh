#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Cross-compiles for 64-bit Arm on this Debian system and runs the tests under qemu-user. Installs packages of both
# architectures, so it is for a root of its own (scripts/test-arm64.sh).
#
#   scripts/test-arm64-here.sh [--mpi] [CTEST OPTION...]   default: all tests but those with the label long, kmod or style
#
#   --mpi   builds the shims, too, for the MPI libraries that scripts/arm64-mpi-here.sh unpacks, and runs their tests of 2
#           to 4 ranks (below) instead of the others
#
# Programs of the build run like those of this machine, so that tests and collctl can start them: the kernel finds the
# emulator in a registry of binary formats that belongs to a user namespace of this script and ends with it.
# Environment: BUILD (default build-arm64), JOBS, CMAKE_FLAGS
set -euo pipefail

scripts=$(cd "$(dirname "$0")" && pwd)
die() { printf 'test-arm64: %s\n' "$*" >&2; exit 2; }
build=${BUILD:-$scripts/../build-arm64}
jobs=${JOBS:-$(nproc)}

# Registers the emulator, then runs the tests.
inside() {
  local registry=/proc/sys/fs/binfmt_misc
  mount -t binfmt_misc binfmt_misc "$registry" ||
    die "this kernel has no registry of binary formats for a user namespace; Linux 6.7 and newer have"
  # The first 20 bytes of a program of Linux for aarch64. F: the kernel opens the emulator now; P: keeps argv[0].
  printf '%s' ':qemu-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:' \
    '\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:' "$1:PF" >"$registry/register"
  shift
  "$scripts/run-tests.sh" "$@"
}
if [ "${1:-}" = --inside ]; then
  shift
  inside "$@"
  exit
fi

# Runs a command in namespaces of users and mounts. All users and groups of this one are there, as some tests change
# theirs; `unshare --map-root-user` has one.
in_user_namespace() {
  unshare --user sh -c 'until read -r _ </proc/self/gid_map; do sleep 0.1; done; exec unshare --mount "$@"' sh "$@" &
  local child=$! ids
  for ids in uid_map gid_map; do
    # Before the child has its namespace, its map cannot be written.
    until awk '{ print $1, $1, $3 }' "/proc/self/$ids" 2>/dev/null >"/proc/$child/$ids"; do
      kill -0 "$child" 2>/dev/null || break
      sleep 0.1
    done
  done
  wait "$child"
}

# Each program of tests/mpi, blocking, non-blocking and persistent, in C and Fortran. A run takes 5 to 60 s, so each has
# one number of ranks or two. Waiting ranks of MPICH spin: with more of them than processors some tests run out of time.
shim_tests='^shim\.(openmpi\.(reduce|bits|user_ops|blocks|bcast|communicators|interleave|neighbors)\.[24]|mpich\.(reduce|bits|'
shim_tests+='user_ops|blocks|bcast|communicators|neighbors|iblocks)\.2|openmpi\.(iblocks\.3|nodes\.blocks\.4\.2)|'
shim_tests+='(openmpi|mpich)\.((ibcast|ireduce|iuser_ops|ineighbors|nonblocking|pblocks|persistent)\.2|pneighbors\.3|'
shim_tests+='(fortran|persistent)\.[a-z0-9_]+(\.2)?|heap\.shared|threads|pending\.4|statistics|significant\.3))$'
mpi=''
if [ "${1:-}" = --mpi ]; then
  mpi=yes
  shift
fi

[ "$(id -u)" -eq 0 ] || die "needs root, to install packages of another architecture"
[ "$(dpkg --print-architecture)" != arm64 ] || die "this is an arm64 system: make check tests it"

# Programs of this machine, headers that serve both, libraries of arm64 (packages/debian.txt has the reasons). The
# emulator is linked statically: a dynamic one would try to preload the shims itself.
emulator=qemu-user
[ "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" != bookworm ] || emulator=qemu-user-static
packages="build-essential crossbuild-essential-arm64 cmake ninja-build pkg-config python3 $emulator scdoc ccache
  libcli11-dev nlohmann-json3-dev libeigen3-dev relacy-dev
  node-d3 librsvg2-bin python3-jsonschema util-linux iproute2 hostname
  libhwloc-dev:arm64 libhwy-dev:arm64 liburing-dev:arm64 libjemalloc-dev:arm64 libfmt-dev:arm64
  libtracefs-dev:arm64 libtraceevent-dev:arm64 libgtest-dev:arm64 libgmock-dev:arm64"
printf '== packages of amd64 and arm64\n'
log=$(mktemp)
trap 'rm -f "$log"' EXIT
dpkg --add-architecture arm64
apt-get -qq update || printf 'apt-get update had errors, see above; trying to install all the same\n'
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $packages >"$log" 2>&1 || {
  cat "$log" >&2
  die "the packages cannot be installed"
}

targets=all
if [ -n "$mpi" ]; then
  "$scripts/arm64-mpi-here.sh"
  targets='installables test_programs_openmpi test_programs_mpich'
fi
for target in $targets; do
  # shellcheck disable=SC2086
  "$scripts/build.sh" "$build" "$jobs" -t "$target" --preset arm64 ${CMAKE_FLAGS:-}
done

if [ $# -eq 0 ] && [ -n "$mpi" ]; then
  set -- -R "$shim_tests" -LE '^long$'
elif [ $# -eq 0 ]; then
  set -- -LE '^(long|kmod|style)$'
fi
emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static)
report=$(cd "$build" && pwd)/tests.xml
status=0
in_user_namespace "$0" --inside "$emulator" "$jobs" "$build" -- "$@" --output-junit "$report" || status=$?
[ -e "$report" ] || die "no test ran"
"$scripts/list-skips.py" "$report"

summary="$(python3 - "$report" <<'PYTHON'
import sys
import xml.etree.ElementTree as ElementTree
suite = ElementTree.parse(sys.argv[1]).getroot()
tests, failed = int(suite.get("tests")), int(suite.get("failures"))
skipped = int(suite.get("skipped")) + int(suite.get("disabled"))
print(f"{tests} tests, {tests - failed - skipped} passed, {skipped} skipped, {failed} failed")
PYTHON
), $(aarch64-linux-gnu-gcc --version | head -n 1 | sed 's/ (.*) / /'), $("$emulator" --version | head -n 1)"
[ ! -d /result ] || printf '%s\n' "$summary" >/result/summary
printf 'test-arm64: %s\n' "$summary"
exit "$status"
