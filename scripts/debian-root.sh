# SPDX-License-Identifier: BSD-3-Clause
# Minimal roots of a Debian release, from the mirror of this machine's apt; to be sourced. The caller defines say and
# die, and sets `suite` (bookworm, trixie or sid). `roots` keeps a base root of each release and the downloaded packages.
roots=${COLL_CLEAN_ROOT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/libcoll/clean-root}

# suite_of SYSTEM: prints the suite for 12, 13 or sid. Fails for another word.
suite_of() {
  case $1 in
    12 | bookworm) echo bookworm ;;
    13 | trixie) echo trixie ;;
    sid | unstable) echo sid ;;
    *) return 1 ;;
  esac
}

# need_systems SYSTEM...: ends the script unless suite_of knows all of them.
need_systems() {
  local system
  for system in "$@"; do
    suite_of "$system" >/dev/null || die "unknown system '$system': use 12, 13 or sid"
  done
}

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

# The host's settings for reaching its sources (proxies, retries, clock checks); no hooks, no credentials.
apt_settings() {
  apt-config dump | grep -E '^Acquire::(http|https|ftp|Retries|ForceIPv|Check-|Languages)' || true
}

# The first source of the suite itself, for debootstrap; empty leaves the choice to debootstrap.
mirror() { apt_sources | awk -v suite="$suite" '$2 == suite { print $1; exit }'; }

# The archive of the base root; created if there is none yet.
base_root() { echo "$roots/$suite-$(dpkg --print-architecture).tar"; }
make_base() {
  local base=$1 work=$roots/base.$$
  say "making the base root of $suite once, in $roots (debootstrap)"
  eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
  [ -z "${http_proxy:-}" ] || export http_proxy
  if ! debootstrap --variant=minbase --include=git,make "$suite" "$work" $(mirror) >"$roots/debootstrap-$suite.log" 2>&1; then
    tail -n 20 "$roots/debootstrap-$suite.log" >&2
    rm -rf --one-file-system "$work"
    die "debootstrap failed; the whole log is $roots/debootstrap-$suite.log"
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
  # An outdated mirror is good enough for a temporary root.
  { apt_settings; echo 'Acquire::Check-Valid-Until "false";'; } >"$root/etc/apt/apt.conf.d/90host"
  if [ -n "$(apt_sources)" ]; then
    apt_sources | sed 's/^/deb /' >"$root/etc/apt/sources.list"
    cp -L /etc/apt/trusted.gpg.d/* "$root/etc/apt/trusted.gpg.d/" 2>/dev/null || true
  fi
  # Such a root does not have to survive a power failure.
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/90root"
  # Services must not start in a root that is not booted.
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod +x "$root/usr/sbin/policy-rc.d"
}

# make_root DIRECTORY: unpacks the base root of the suite there and configures it.
make_root() {
  local base
  base=$(base_root)
  mkdir -p "$roots"
  # Unstable changes every day: upgrading an old base takes longer than creating a new one.
  [ "$suite" != sid ] || find "$roots" -maxdepth 1 -path "$base" -mtime +14 -delete
  [ -e "$base" ] || make_base "$base"
  tar -C "$1" --numeric-owner -xf "$base"
  chmod 755 "$1"
  configure_root "$1"
}

# Checks what such a root needs of this machine; prints the reason if something is missing.
root_is_impossible() {
  if [ "$(id -u)" -ne 0 ]; then
    echo "needs root for debootstrap and chroot"
  elif ! command -v debootstrap >/dev/null; then
    echo "debootstrap is missing: apt-get install debootstrap"
  elif ! unshare --mount --pid --fork true 2>/dev/null; then
    echo "this machine does not allow mount namespaces; run it on one that does"
  else
    return 1
  fi
}

# Mounts file systems that programs in the root need; in a mount namespace of its own, which ends with its last process.
mount_root() {
  local root=$1 target
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
}
