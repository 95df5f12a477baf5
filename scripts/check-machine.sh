#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Checks for faults that no package fixes: containers and chroots without parts that MPI and shared memory need.
set -eu

fail() { printf 'this machine: %s\n' "$@" >&2; exit 1; }

[ -e /proc/self/maps ] || fail "/proc is not mounted, and neither MPI nor libcoll can work without it." \
  "In a chroot: mount -t proc proc /proc"
[ -c /dev/null ] && [ -c /dev/urandom ] || fail "/dev has no null or urandom device." \
  "In a chroot: mount --rbind /dev PATH/dev from outside"
[ -w "${TMPDIR:-/tmp}" ] || fail "${TMPDIR:-/tmp} is not writable; set TMPDIR to a directory that is."
if [ ! -d /dev/shm ] || [ ! -w /dev/shm ]; then
  fail "/dev/shm is not there or not writable; libcoll does without it, Open MPI and MPICH do not." \
    "As root: mkdir -p /dev/shm && mount -t tmpfs -o mode=1777 tmpfs /dev/shm"
fi
