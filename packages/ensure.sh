#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Installs the packages of debian.txt that are missing, and nothing when none is.
# COLL_SKIP_PACKAGES=1 leaves the machine as it is; what is missing is then found by CMake.
set -eu

say() { printf 'packages: %s\n' "$*"; }
fail() { printf 'packages: %s\n' "$@" >&2; exit 1; }

list=$(dirname "$0")/debian.txt

# names [?]: the required packages of the list, or with '?' the optional ones.
names() { sed -e 's/#.*//' "$list" | awk -v mark="${1:-}" '{ q = sub(/^\?/, "") } NF && q == (mark == "?") { print $1 }'; }

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
missing_of() { for package in "$@"; do installed "$package" || printf '%s ' "$package"; done; }

# A terminal may ask for sudo's password; without one it must do without.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  elif [ -t 0 ]; then
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  else
    sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}
may_be_root() {
  [ "$(id -u)" -eq 0 ] && return 0
  command -v sudo >/dev/null 2>&1 || return 1
  [ -t 0 ] || sudo -n true 2>/dev/null
}

if [ -n "${COLL_SKIP_PACKAGES:-}" ]; then
  say "COLL_SKIP_PACKAGES is set: nothing is checked or installed"
  exit 0
fi
if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
  fail "this is no Debian-like system, so nothing can be installed for you." \
    "Install what corresponds to: $(names | tr '\n' ' ')" \
    "then run again with COLL_SKIP_PACKAGES=1."
fi

required=$(missing_of $(names))
optional=$(missing_of $(names '?'))
[ -n "$required$optional" ] || exit 0

if ! may_be_root; then
  if [ -z "$required" ]; then
    say "not installed, and not needed: $optional"
    exit 0
  fi
  fail "missing: $required" \
    "They can be installed as root or with sudo, and neither is possible here. Ask an administrator for" \
    "  apt-get install --no-install-recommends $required"
fi

say "libcoll needs packages that are not installed here: $required$optional"
say "running apt-get update and apt-get install (the list with reasons: packages/debian.txt)"
# A source that cannot be reached need not be one that is needed: what counts is whether the packages arrive.
as_root apt-get -qq update || say "apt-get update had errors, see above; trying to install all the same"
# Quiet when all is well, the whole tale when not.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! as_root apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends $required $optional >"$log" 2>&1; then
  cat "$log" >&2
  fail "apt-get install failed: see its messages above; is the network reachable, and is this Debian 12 or later?"
fi
still=$(missing_of $(names))
[ -z "$still" ] || fail "apt-get reported success, yet these are missing: $still"
say "installed"
