#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds the kernel module for every kernel whose headers this system has, outside the source tree, with W=1. A warning
# is an error. Prints one line per kernel and exits with status 1 if any build failed, 2 if there are no headers.
#
#   scripts/build-module-here.sh
set -euo pipefail

scripts=$(cd "$(dirname "$0")" && pwd)
die() { printf 'build-module: %s\n' "$*" >&2; exit 2; }

# shellcheck source=vm/common.sh
. "$scripts/vm/common.sh"

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
kernels=0 failed=0
for headers in /lib/modules/*/build; do
  [ -e "$headers/Makefile" ] || continue
  kernels=$((kernels + 1)) result=builds
  release=${headers%/build}
  copy_sources "$scripts/.." "$stage/${release##*/}"
  make_module "$stage/log" make -C "$headers" "M=$stage/${release##*/}/kmod" W=1 || { result=FAILED failed=1; }
  printf 'kcoll %s with Linux %s\n' "$result" "${release##*/}"
done
[ "$kernels" -gt 0 ] || die "no kernel headers are installed: apt-get install linux-headers-$(dpkg --print-architecture)"
exit "$failed"
