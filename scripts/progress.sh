#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# progress.sh LOG [INTERVAL]: reads the output of a build (Ninja's or make's) on standard input, writes it to LOG, and
# prints a line every INTERVAL seconds: the percentage of steps that are done and an estimate of the remaining time,
# which assumes that all steps take equally long. Default: 10 s, after two minutes 30 s.
set -u

[ $# -ge 1 ] || { echo 'usage: BUILD COMMAND | scripts/progress.sh LOG [INTERVAL]' >&2; exit 2; }
log=$1 interval=${2:-} partial='' percent='' last=0
: >"$log"

# Ninja prints "[12/340] Building ...", make "[ 12%] Building ...".
look_at() {
  if [[ $1 =~ ^\[\ *([0-9]+)/([0-9]+)\] ]]; then
    percent=$((100 * BASH_REMATCH[1] / BASH_REMATCH[2]))
  elif [[ $1 =~ ^\[\ *([0-9]+)%\] ]]; then
    percent=${BASH_REMATCH[1]}
  fi
}

show() {
  local left='' seconds
  if [ "${percent:-0}" -gt 0 ]; then
    seconds=$((SECONDS * (100 - percent) / percent))
    if [ "$seconds" -ge 90 ]; then left=", about $(((seconds + 30) / 60)) min left"
    else left=", about $seconds s left"; fi
  fi
  printf '   %3d %%, %d:%02d min%s\n' "${percent:-0}" $((SECONDS / 60)) $((SECONDS % 60)) "$left"
  last=$SECONDS
}

while :; do
  if IFS= read -r -t 1 line; then
    line=$partial$line partial=''
    printf '%s\n' "$line" >>"$log"
    look_at "$line"
  elif [ $? -gt 128 ]; then
    partial+=$line  # the time is up in the middle of a line
  else
    [ -z "$partial$line" ] || printf '%s\n' "$partial$line" >>"$log"
    break
  fi
  [ $((SECONDS - last)) -lt "${interval:-$((SECONDS < 120 ? 10 : 30))}" ] || show
done
