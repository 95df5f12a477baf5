#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs the lines of README.md that install and use libcoll, as they are, on this system, which it changes; prints each
# with the seconds since the start. Fails if a line fails, if an MPI program is not served, or, with packages, if all of
# it takes more than 300 s.
#
#   scripts/test-readme-here.sh
#
# With packages in /added it follows the instructions with `apt install`, otherwise those with `make install`. Lines
# that a comment calls optional are skipped. It also creates, within the time, what readers have before they begin: an
# MPI program for each MPI library, and the programs of README.md and python/README.md. Needs root; `make test-readme
# SYSTEM=12|13|sid` creates a temporary root for it.
set -euo pipefail

checkout=$(cd "$(dirname "$0")/.." && pwd)
say() { printf 'test-readme: %4d s  %s\n' "$SECONDS" "$*"; }
die() { printf 'test-readme: %s\n' "$*" >&2; exit 1; }
case ${1:-} in -h | --help) sed -n '4,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;; esac
[ "$(id -u)" -eq 0 ] || die "needs root: it installs packages"
# README.md names the last two. Prompts are answered as readers would.
export DEBIAN_FRONTEND=noninteractive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/91yes

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# blocks FILE HEADING [LANGUAGE]: prints the code blocks below that heading, each ended by a line "--".
blocks() {
  awk -v section="$2" -v fence="\`\`\`${3:-}" '
    /^#+ / && !inside { here = $0 == section }
    here && /^```/ { if (inside) { if (wanted) print "--"; inside = wanted = 0 } else { inside = 1; wanted = $0 == fence }; next }
    wanted' "$checkout/$1"
}

# lines PATTERN: prints the block on standard input that has a line matching PATTERN.
lines() {
  awk -v pattern="$1" '/^--$/ { if (found) { printf "%s", block; exit } block = ""; next }
    $0 ~ pattern { found = 1 } { block = block $0 "\n" }'
}

# type_lines BLOCK: runs the lines one after the other in this shell, so that variables are kept.
type_lines() {
  local line mpi started
  [ -n "$1" ] || die "README.md has no such block: the script and the page have parted"
  while IFS= read -r line <&3; do
    case $line in *'# optional'*) continue ;; esac
    mpi=$(sed -n 's/.*--mpi \([a-z]*\) .*/\1/p' <<<"$line")
    [ -z "$mpi" ] || "mpicc.$mpi" program.c -o program
    say "\$ $line"
    started=$SECONDS
    eval "$line" >"$work/out" 2>&1 </dev/null || { tail -n 50 "$work/out"; die "this line fails: $line"; }
    typed=$((typed + 1))
    if [ "$(wc -l <"$work/out")" -le 40 ]; then cat "$work/out"; else say "($((SECONDS - started)) s, $(wc -l <"$work/out") lines)"; fi
    if [ -n "$mpi" ]; then
      grep -q 'libcoll: communicator MPI_COMM_WORLD of 2 ranks' "$work/out" || die "the program of $mpi is not served"
      [ "$(grep -c 'the sum is 3' "$work/out")" = 2 ] || die "the program of $mpi has a wrong sum"
      served=$((served + 1))
    fi
  done 3<<<"$1"
}

typed=0 served=0
if [ -d /added ]; then instruction='^apt install' folder=/added limit=300; else instruction='^make install' folder=$checkout limit=; fi
install=$(blocks README.md '## Install and use' | lines "$instruction")
use=$(blocks README.md '## Install and use' | lines '^collctl run ')
native=$(blocks README.md '## Example' | lines '^mpirun ')
cp "$checkout/packages/debian/tests/program.c" "$work/program.c"
blocks README.md '## Example' c | sed '/^--$/d' >"$work/average.c"
blocks python/README.md '# python' python | sed '/^--$/d' >"$work/script.py"
[ -s "$work/average.c" ] && [ -s "$work/script.py" ] || die "no example in README.md or python/README.md"

say "the MPI libraries and compilers that the programs are built with, numpy for the script"
apt-get -qq update
apt-get -qq install --no-install-recommends gcc libc6-dev libopenmpi-dev openmpi-bin libmpich-dev mpich pkg-config \
  python3-numpy >"$work/out" 2>&1 || { tail -n 50 "$work/out"; die "they cannot be installed"; }
cd "$folder"
type_lines "$install"
cd "$work"
type_lines "$use"
grep -q '\[3\. 3\. 3\.\]' "$work/out" || die "script.py prints no sum"
type_lines "$native"
[ "$(grep -c 'the average is 1.5' "$work/out")" = 2 ] || die "average prints no average"
[ "$served" = 2 ] || die "$served MPI programs were served, not one of each MPI library"
say "$typed lines typed, on $(nproc) cores with load $(cut -d ' ' -f 1 /proc/loadavg)"
[ -z "$limit" ] || [ "$SECONDS" -le "$limit" ] || die "that took $SECONDS s, more than $limit"
say passed
