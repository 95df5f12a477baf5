#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs make in a minimal Debian root: clones the HEAD of this checkout, or unpacks a release tarball, into a root that
# contains only git, make and what debootstrap installs, and runs `make TARGET` for each target given (default: demo
# test).
#
#   scripts/clean-root.sh [--suite NAME] [--compiler gcc|clang] [--packages LIST [--only]] [--add DIR] [--result DIR]
#                         [--tarball FILE] [--keep] [--user | --ccache] [--namespaces] [TARGET...]
#
#   --suite NAME   Debian release: bookworm (12, the default), trixie (13) or sid (unstable)
#   --compiler C   gcc (the default) or clang, as that release packages it
#   --packages L   install these packages, too, separated by spaces
#   --keep         keep the root for inspection (prints its path; nothing stays mounted in it)
#   --user         run make as an ordinary user with sudo rights instead of as root
#   --ccache       give the root this user's compiler cache. Missing packages still show: a cache hit needs the same
#                  compiler and all headers of the first compilation
#   --only         those of --packages and no others: make does not look for packages that are missing
#   --add DIR      copy the contents of DIR to /added in the root
#   --result DIR   mount DIR, for results, as /result in the root
#   --namespaces   let programs in the root create user namespaces, which the kernel refuses in a chroot
#   --tarball F    take the sources from this tarball of `make dist`; the root has no git repository then
#
# Environment: COLL_CLEAN_ROOT_CACHE   keeps the base roots and the downloaded packages
#                                      (default ${XDG_CACHE_HOME:-~/.cache}/libcoll/clean-root)
#              COLL_CLEAN_ROOT_DIR     receives the roots (default /var/tmp), about 4 GiB each
#              JOBS                    compilations at once, for make in the root (default: one per core)
#              DEB_BUILD_PROFILES      goes to make in the root, too
# Needs root and debootstrap. Takes packages from the mirror that this machine's own apt uses.
# All mounts live in a mount namespace and all processes in a process namespace of their own, so that both are gone
# when the script ends, however it ends.
set -euo pipefail

suite=bookworm
compiler=gcc
checkout=$(cd "$(dirname "$0")/.." && pwd)
keep=no
user=root
ccache=
packages=
only=
add=
result=
namespaces=
tarball=

say() { printf 'clean-root: %s\n' "$*"; }
die() { printf 'clean-root: %s\n' "$*" >&2; exit 2; }
# shellcheck source=debian-root.sh
. "$(dirname "$0")/debian-root.sh"

# Runs inside the namespaces: mounts, then one make after the other. Stops at the first that fails.
inside() {
  local root=$1 user=$2 ccache=$3 compiler=$4 archives=$5 target status started home packages=($6) only=$7 result=$8 namespaces=$9
  shift 9
  mount_root "$root"
  mkdir -p "$root/var/cache/apt/archives"
  mount --bind "$archives" "$root/var/cache/apt/archives"
  if [ -n "$result" ]; then
    mkdir "$root/result"
    mount --bind "$result" "$root/result"
  fi

  local run=(env -i "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" LANG=C.UTF-8 CI=true)
  [ -z "${JOBS:-}" ] || run+=("JOBS=$JOBS")
  [ -z "${DEB_BUILD_PROFILES:-}" ] || run+=("DEB_BUILD_PROFILES=$DEB_BUILD_PROFILES")
  [ -z "${http_proxy:-}" ] || run+=("http_proxy=$http_proxy")
  [ -z "${https_proxy:-}" ] || run+=("https_proxy=$https_proxy")
  if [ -n "$ccache" ]; then
    mkdir "$root/var/cache/ccache"
    mount --bind "$ccache" "$root/var/cache/ccache"
    run+=(CCACHE_DIR=/var/cache/ccache)
  fi
  [ -z "$only" ] || run+=(COLL_SKIP_PACKAGES=1)
  home=/root
  if [ "$compiler" = clang ]; then
    packages+=(clang)
    run+=(CC=clang CXX=clang++)
  fi
  if [ -n "$namespaces" ]; then
    # The root becomes that of the mount namespace. This shell keeps the old one, where its programs are.
    cd "$root"
    mount --move . /
    root=.
  fi
  [ "$user" = root ] || packages+=(sudo)
  if [ ${#packages[@]} -gt 0 ]; then
    "${run[@]}" DEBIAN_FRONTEND=noninteractive chroot "$root" sh -c \
      'apt-get -qq update && apt-get -qq install -y --no-install-recommends "$@" >/dev/null &&
       rm -rf /var/lib/apt/lists/*' sh "${packages[@]}"
  fi
  if [ "$user" != root ]; then
    "${run[@]}" chroot "$root" sh -c \
      'useradd -m "$1" && echo "$1 ALL=(ALL) NOPASSWD: ALL" >"/etc/sudoers.d/$1"' sh "$user"
    home=/home/$user
  fi
  mv "$root/libcoll" "$root$home/libcoll"
  chroot "$root" chown -R "$user:" "$home/libcoll"
  for target in "$@"; do
    say "make $target, as $user, with $compiler"
    started=$SECONDS
    status=0
    "${run[@]}" "HOME=$home" "USER=$user" chroot "--userspec=$user:" "$root" \
      make -C "$home/libcoll" "$target" </dev/null || status=$?
    say "make $target: exit status $status after $((SECONDS - started)) s"
    [ "$status" -eq 0 ] || return "$status"
  done
}

if [ "${1:-}" = --inside ]; then
  shift
  inside "$@"
  exit
fi

while [ $# -gt 0 ]; do
  case $1 in
    --suite | --compiler | --packages | --add | --result | --tarball)
      [ $# -ge 2 ] || die "$1 needs a value; see --help"
      printf -v "${1#--}" %s "$2"
      shift
      ;;
    --namespaces) namespaces=yes ;;
    --keep) keep=yes ;;
    --only) only=yes ;;
    --user) user=builder ;;
    --ccache) ccache=$(ccache --get-config cache_dir) || die "ccache is missing: apt-get install ccache" ;;
    -h | --help) sed -n '3,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    -*) die "unknown option $1; see --help" ;;
    *) break ;;
  esac
  shift
done
[ $# -gt 0 ] || set -- demo test
case $suite in bookworm | trixie | sid) ;; *) die "unknown suite '$suite': use bookworm, trixie or sid" ;; esac
case $compiler in gcc | clang) ;; *) die "unknown compiler '$compiler': use gcc or clang" ;; esac
[ "$user" = root ] || [ -z "$ccache" ] || die "--ccache belongs to root's cache: leave out --user"
command -v git >/dev/null || die "git is missing: apt-get install git"
if reason=$(root_is_impossible); then die "$reason"; fi
[ -z "$tarball" ] || [ -f "$tarball" ] || die "there is no tarball $tarball: make dist makes one"
[ -z "$result" ] || { mkdir -p "$result" && result=$(realpath "$result"); }

# Roots of two suites may run at once: apt locks the archives that it uses.
archives=$roots/archives/$suite
mkdir -p "$archives/partial"

root=$(mktemp -d "${COLL_CLEAN_ROOT_DIR:-/var/tmp}/libcoll-clean-root.XXXXXX")
inside=
cleanup() {
  if [ -n "$inside" ]; then
    kill -KILL "$inside"
    wait "$inside" || true
  fi 2>/dev/null
  if [ "$keep" = yes ]; then
    say "left behind: $root"
  else
    rm -rf --one-file-system "$root"
  fi
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

make_root "$root"
if [ -n "$tarball" ]; then
  mkdir "$root/libcoll"
  tar -C "$root/libcoll" --no-same-owner --force-local --strip-components 1 -xf "$tarball" || die "cannot unpack $tarball"
  sources=$(basename -- "$tarball")
else
  git -c "safe.directory=$checkout" clone --quiet --no-hardlinks "$checkout" "$root/libcoll"
  sources="commit $(git -c "safe.directory=$checkout" -C "$checkout" rev-parse --short HEAD)"
fi
say "$sources, Debian $(cat "$root/etc/debian_version")"

[ -z "$add" ] || { mkdir "$root/added" && cp -a "$add/." "$root/added/"; }

status=0
# Runs in the background, so that signals are handled at once.
unshare --mount --pid --fork --kill-child "$0" --inside "$root" "$user" "$ccache" "$compiler" "$archives" "$packages" "$only" \
  "$result" "$namespaces" "$@" &
inside=$!
wait "$inside" || status=$?
inside=
say "$([ "$status" -eq 0 ] && echo passed || echo "FAILED with status $status")"
exit "$status"
