#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests the torch.distributed backend in a minimal Debian root, which gets that release's python3-torch and the libcoll of
# this checkout's build directory. Tests HEAD.
#
#   scripts/test-torch.sh BUILD SYSTEM [TARGET]
#
#   BUILD    the build directory, with libcoll
#   SYSTEM   12 (torch 1.13), 13 (2.6) or sid (2.14)
#   TARGET   of make: test-torch-here (default), or test-torch-upstream-here
#
# Needs root and debootstrap, as scripts/clean-root.sh does. The library is the one that was built here, so that the root's
# C library must not be older than this machine's.
set -euo pipefail

scripts=$(cd "$(dirname "$0")" && pwd)
die() { printf 'test-torch: %s\n' "$*" >&2; exit 2; }
[ $# -eq 2 ] || [ $# -eq 3 ] ||
  die "usage: scripts/test-torch.sh BUILD SYSTEM [TARGET]; make test-torch SYSTEM=12|13|sid does that"
build=$1
# shellcheck source=debian-root.sh
. "$scripts/debian-root.sh"
need_systems "$2"
suite=$(suite_of "$2")

# Only the library: neither tools nor shims.
stage=$build/torch-stage
rm -rf "$stage"
mkdir -p "$stage"
cmake --install "$build/lib/api" --prefix "$stage" >/dev/null

packages="python3-torch libtorch-dev python3-dev python3-pytest python3-numpy python3-setuptools python3-pip python3-wheel
  pybind11-dev g++ cmake ninja-build pkg-config libhwloc15 liburing2"
exec "$scripts/clean-root.sh" --suite "$suite" --packages "$packages" --only --add "$stage" "${3:-test-torch-here}"
