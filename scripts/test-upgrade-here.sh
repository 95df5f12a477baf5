#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs the Debian packages of one directory on this system, and those of another over them while jobs run:
# the jobs go on with the library that they have mapped, later ones load the new library, and ranks of both refuse
# each other. Leaves the new packages installed.
#
#   scripts/test-upgrade-here.sh OLDER NEWER
#
#   OLDER   directory with packages of a lower version, whose ranks have another layout number
#           (Hello::protocol of lib/comm/introduction.h)
#
# Needs root, a C compiler, and apt sources for what the packages depend on. scripts/test-deb-here.sh calls it.
set -euo pipefail

checkout=$(cd "$(dirname "$0")/.." && pwd)
say() { printf 'test-upgrade: %s\n' "$*"; }
die() { printf 'test-upgrade: %s\n' "$*" >&2; exit 1; }
case ${1:-} in -h | --help) sed -n '4,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;; esac
[ $# -eq 2 ] || die "needs OLDER and NEWER; see --help"
older=$(realpath "$1") newer=$(realpath "$2")
export DEBIAN_FRONTEND=noninteractive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 COLL_LOG=info

work=$(mktemp -d)
jobs=()
cleanup() {
  touch "$work/end"  # the file that the jobs wait for
  [ ${#jobs[@]} -eq 0 ] || kill "${jobs[@]}" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

# install DIRECTORY: installs every package in it except debugging symbols.
install() {
  local debs
  mapfile -t debs < <(find "$1" -name '*.deb' -not -name '*-dbgsym_*')
  apt-get -qq install -y --no-install-recommends --allow-downgrades "${debs[@]}" >"$work/apt.log" 2>&1 ||
    { tail -n 50 "$work/apt.log"; die "the packages of $1 cannot be installed"; }
}
version() { dpkg-query -W -f '${Version}' libcoll0; }

# start NAME COMMAND...: runs a job in the background; returns when both ranks have added once.
start() {
  local name=$1
  shift
  "$@" "$work/end" >"$work/$name.out" 2>"$work/$name.log" &
  jobs+=($!)
  for ((tenth = 0; tenth < 600; tenth++)); do
    [ "$(grep -c 'runs, process' "$work/$name.log")" != 2 ] || return 0
    sleep 0.1
  done
  cat "$work/$name.log"
  die "the job $name does not start"
}

# finish NAME PID: checks that the job has ended successfully, with every sum.
finish() {
  wait "$2" || { cat "$work/$1.log"; die "the job $1 failed"; }
  [ "$(grep -c ' sums$' "$work/$1.out")" = 2 ] || { cat "$work/$1.out" "$work/$1.log"; die "the job $1 ended early"; }
}

# maps_deleted NAME: checks that each rank still has only the library that the upgrade has replaced.
maps_deleted() {
  local pid
  for pid in $(sed -n 's/.* runs, process //p' "$work/$1.log"); do
    grep -q 'libcoll\.so.*(deleted)$' "/proc/$pid/maps" || die "$1: process $pid has not kept its library"
    ! grep 'libcoll\.so[.0-9]*$' "/proc/$pid/maps" || die "$1: process $pid has loaded the new library"
  done
}

say "installing $(basename "$older")"
install "$older"
before=$(version)
cc -O -Wall -Werror "$checkout/tests/install/upgrade/native.c" -o "$work/native" -lcoll
mpicc.openmpi -O -Wall -Werror "$checkout/tests/install/upgrade/mpi.c" -o "$work/mpi"

say "upgrading while jobs run"
start native collctl run -n 2 "$work/native"
start mpi collctl run --mpi openmpi -n 2 "$work/mpi"
grep -q 'libcoll: communicator MPI_COMM_WORLD of 2 ranks' "$work/mpi.log" || die "the job mpi is not served"
install "$newer"
after=$(version)
dpkg --compare-versions "$before" lt "$after" || die "version $after is not newer than $before"
maps_deleted native
maps_deleted mpi

say "a new job beside them"
touch "$work/at-once"
collctl run -n 2 "$work/native" "$work/at-once" >"$work/second.out" 2>"$work/second.log" ||
  { cat "$work/second.log"; die "a job with the new library fails"; }
[ "$(grep -c ': 1 sums$' "$work/second.out")" = 2 ] || die "a job with the new library ends early"

touch "$work/end"
finish native "${jobs[0]}"
finish mpi "${jobs[1]}"
jobs=()
cat "$work/native.out" "$work/mpi.out"

say "ranks of both versions"
dpkg-deb -x "$older"/libcoll0_*.deb "$work/older"
folder=$(dirname "$(find "$work/older" -name 'libcoll.so.0')")
export COLL_SIZE=2 COLL_RENDEZVOUS=test-upgrade-$$
status_old=0 status_new=0
COLL_RANK=0 LD_LIBRARY_PATH=$folder timeout 60 "$work/native" "$work/end" >"$work/both.log" 2>&1 &
COLL_RANK=1 timeout 60 "$work/native" "$work/end" >"$work/new.log" 2>&1 || status_new=$?
wait $! || status_old=$?
cat "$work/both.log" "$work/new.log"
[ "$status_old" = 1 ] && [ "$status_new" = 1 ] || die "ranks of both versions: status $status_old and $status_new, not 1"
for log in both new; do
  grep -q 'another version of libcoll' "$work/$log.log" || die "ranks of two versions do not say why they fail"
done
say "passed: $before to $after"
