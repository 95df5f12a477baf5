#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs make in a minimal Debian root: clones the HEAD of this checkout into a root that contains only git, make and
# what debootstrap installs, and runs `make TARGET` for each target given (default: demo test).
#
#   scripts/clean-root.sh [--suite NAME] [--compiler gcc|clang] [--packages LIST [--only]] [--add DIR] [--keep]
#                         [--user | --ccache] [TARGET...]
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
#
# Environment: COLL_CLEAN_ROOT_CACHE   keeps the base roots and the downloaded packages
#                                      (default ${XDG_CACHE_HOME:-~/.cache}/libcoll/clean-root)
#              COLL_CLEAN_ROOT_DIR     receives the roots (default /var/tmp), about 4 GiB each
# Needs root and debootstrap. Takes packages from the mirror that this machine's own apt uses.
# All mounts live in a mount namespace and all processes in a process namespace of their own, so that both are gone
# when the script ends, however it ends.
set -euo pipefail

suite=bookworm
compiler=gcc
checkout=$(cd "$(dirname "$0")/.." && pwd)
cache=${COLL_CLEAN_ROOT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/libcoll/clean-root}
keep=no
user=root
ccache=
packages=
only=
add=

say() { printf 'clean-root: %s\n' "$*"; }
die() { printf 'clean-root: %s\n' "$*" >&2; exit 2; }

# This machine's apt sources of Debian, for the suite: one line "URI SUITE COMPONENT" each, or nothing on another
# distribution. Whichever release this machine runs, its mirror has the others.
apt_sources() {
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' 2>/dev/null |
    awk -v suite="$suite" '
      NF > 3 && $4 != "Debian" { next }
      $2 !~ /^(bookworm|trixie|forky|sid|stable|testing|unstable)(-updates|-security)?$/ { next }
      { sub(/^[a-z]+/, suite, $2) }
      suite == "sid" && $2 != "sid" { next }
      !seen[$1, $2, $3]++ { print $1, $2, $3 }'
}

# The host's ways to reach its sources (proxies, retries, clock checks); no hooks, no credentials.
apt_settings() {
  apt-config dump | grep -E '^Acquire::(http|https|ftp|Retries|ForceIPv|Check-|Languages)' || true
}

# The first source of the suite itself, for debootstrap; empty leaves the choice to debootstrap.
mirror() { apt_sources | awk -v suite="$suite" '$2 == suite { print $1; exit }'; }

make_base() {
  local work=$cache/base.$$
  say "making the base root of $suite once, in $cache (debootstrap)"
  eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
  [ -z "${http_proxy:-}" ] || export http_proxy
  if ! debootstrap --variant=minbase --include=git,make "$suite" "$work" $(mirror) >"$cache/debootstrap-$suite.log" 2>&1; then
    tail -n 20 "$cache/debootstrap-$suite.log" >&2
    rm -rf --one-file-system "$work"
    die "debootstrap failed; the whole log is $cache/debootstrap-$suite.log"
  fi
  rm -rf "$work"/var/cache/apt/archives/*.deb "$work"/var/lib/apt/lists/*
  tar -C "$work" --numeric-owner --one-file-system -cf "$base.part" .
  mv "$base.part" "$base"
  rm -rf --one-file-system "$work"
}

# Gives the root the host's name resolution, certificates and sources.
configure_root() {
  local root=$1
  cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
  cp -L /etc/hosts "$root/etc/hosts" 2>/dev/null || true
  if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
    mkdir -p "$root/etc/ssl/certs"
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  fi
  # A mirror that is frozen at a date will do for a root that is thrown away.
  { apt_settings; echo 'Acquire::Check-Valid-Until "false";'; } >"$root/etc/apt/apt.conf.d/90host"
  if [ -n "$(apt_sources)" ]; then
    apt_sources | sed 's/^/deb /' >"$root/etc/apt/sources.list"
    cp -L /etc/apt/trusted.gpg.d/* "$root/etc/apt/trusted.gpg.d/" 2>/dev/null || true
  fi
  # Nor does such a root have to survive a power failure.
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/90root"
  # Services must not start in a root that is no machine.
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod +x "$root/usr/sbin/policy-rc.d"
}

# Runs inside the namespaces: mounts, then one make after the other. Stops at the first that fails.
inside() {
  local root=$1 user=$2 ccache=$3 compiler=$4 archives=$5 target status started home packages=($6) only=$7
  shift 7
  mount --make-rprivate /
  mount --bind "$root" "$root"  # a mount point, so that tests in the root can unshare it
  mount -t proc proc "$root/proc"
  mount -t sysfs -o ro sysfs "$root/sys"
  mount -t tmpfs -o mode=755 dev "$root/dev"
  for target in null zero full random urandom tty; do
    touch "$root/dev/$target"
    mount --bind "/dev/$target" "$root/dev/$target"
  done
  mkdir "$root/dev/shm" "$root/dev/pts"
  ln -s /proc/self/fd "$root/dev/fd"
  mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
  mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
  ln -s pts/ptmx "$root/dev/ptmx"
  mkdir -p "$root/var/cache/apt/archives"
  mount --bind "$archives" "$root/var/cache/apt/archives"

  local run=(env -i "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" LANG=C.UTF-8 CI=true)
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
    --suite | --compiler | --packages | --add)
      [ $# -ge 2 ] || die "$1 needs a value; see --help"
      printf -v "${1#--}" %s "$2"
      shift
      ;;
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
[ "$(id -u)" -eq 0 ] || die "needs root for debootstrap and chroot: sudo $0 $*"
command -v debootstrap >/dev/null || die "debootstrap is missing: apt-get install debootstrap"
command -v git >/dev/null || die "git is missing: apt-get install git"
unshare --mount --pid --fork true 2>/dev/null || die "this machine does not allow mount namespaces; run it on one that does"

# Roots of two suites may run at once: apt locks the archives that it uses.
archives=$cache/archives/$suite
mkdir -p "$archives/partial"
base=$cache/$suite-$(dpkg --print-architecture).tar
# Unstable changes every day: an old base costs more in upgrades than a new one.
[ "$suite" != sid ] || find "$cache" -maxdepth 1 -path "$base" -mtime +14 -delete
[ -e "$base" ] || make_base

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

tar -C "$root" --numeric-owner -xf "$base"
chmod 755 "$root"
configure_root "$root"
git -c "safe.directory=$checkout" clone --quiet --no-hardlinks "$checkout" "$root/libcoll"
say "commit $(git -c "safe.directory=$checkout" -C "$checkout" rev-parse --short HEAD), Debian $(cat "$root/etc/debian_version")"

[ -z "$add" ] || { mkdir "$root/added" && cp -a "$add/." "$root/added/"; }

status=0
# In the background, so that a signal is heard at once.
unshare --mount --pid --fork --kill-child "$0" --inside "$root" "$user" "$ccache" "$compiler" "$archives" "$packages" "$only" "$@" &
inside=$!
wait "$inside" || status=$?
inside=
say "$([ "$status" -eq 0 ] && echo passed || echo "FAILED with status $status")"
exit "$status"
