#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# install-in-vm.sh BUILD KERNEL: what kmod/README.md tells an administrator and a user to do, done: the module by dkms,
# modprobe with a parameter, the udev rule, the limit on locked memory; then a program built by pkg-config against the
# installed library, as an ordinary user of the group. 77: this machine cannot run a virtual one.
set -euo pipefail
build=$(realpath "$1") kernel=$2
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=../../scripts/vm/common.sh
. "$top/scripts/vm/common.sh"
need dkms pkg-config udevadm:udev setpriv:util-linux
"$top/scripts/vm/kernels.sh" "$kernel"
release=$(cat "$cache/$kernel/release")
# Where the machine sees it: its /tmp is its own.
work=$(mktemp -d "$build/install-in-vm.XXXXXX")
trap 'rm -rf "$work"' EXIT
said() { cat "$work/log" >&2; exit 1; }

version=$(awk -F'"' '/^PACKAGE_VERSION/ {print $2}' "$top/dkms.conf")
mkdir -p "$work/src/kcoll-$version" "$work/dkms" "$work/modules/$release"
(cd "$top" && cp -r dkms.conf kmod include "$work/src/kcoll-$version/")
for step in add build install; do
    which=(-m kcoll -v "$version")
    [ $step = add ] || which+=(-k "$release" --kernelsourcedir "$cache/$kernel/headers")
    [ $step != install ] || which+=(--no-depmod --force)
    dkms $step "${which[@]}" --dkmstree "$work/dkms" --sourcetree "$work/src" --installtree "$work/modules" \
        > "$work/log" 2>&1 || said
done
cp "$cache/$kernel/modules/modules.builtin" "$cache/$kernel/modules/modules.order" "$work/modules/$release/"

cmake --install "$build" --prefix "$work/prefix" > "$work/log" 2>&1 || said
pc=$(dirname "$(find "$work/prefix" -name libcoll.pc)")
# shellcheck disable=SC2046
"${CC:-cc}" -std=c11 -Wall $(PKG_CONFIG_PATH=$pc pkg-config --cflags libcoll) "$here/installed.c" -o "$work/installed" \
    $(PKG_CONFIG_PATH=$pc pkg-config --libs libcoll)

cat > "$work/inside" << INSIDE
set -eu
fail() { echo "install-in-vm: \$*" >&2; exit 1; }
export PATH=$work/prefix/bin:/run/bin:\$PATH LD_LIBRARY_PATH=$(dirname "$pc")
# Without the module: said, with the command that mends it.
collctl doctor | grep -q 'modprobe kcoll' || fail "collctl doctor does not say that the module is missing"

mount -t tmpfs tmpfs /lib/modules
cp -r $work/modules/$release /lib/modules/
depmod $release
groups=\$(mktemp)
sed '/^kcoll:/d' /etc/group > \$groups
echo kcoll:x:4711: >> \$groups
mount --bind \$groups /etc/group
mkdir -p /run/udev/rules.d
cp $top/kmod/60-kcoll.rules /run/udev/rules.d/
/lib/systemd/systemd-udevd --daemon
modprobe kcoll gate_limit=8
[ "\$(cat /sys/module/kcoll/parameters/gate_limit)" = 8 ] || fail "gate_limit is not 8"
udevadm settle
[ "\$(stat -c '%G %a' /dev/kcoll)" = 'kcoll 660' ] || fail "/dev/kcoll is \$(stat -c '%G %a' /dev/kcoll)"

user() { setpriv --reuid=65534 --regid=65534 --groups="\$1" sh -c "\$2"; }
user 65534 'collctl doctor' | grep -A3 kcoll | grep -q 'group' || fail "collctl doctor does not tell a user of the group"
ulimit -l unlimited
user 4711 'COLL_TRANSPORT=kcoll_map collctl run -n 4 $work/installed' || fail "a program with kcoll_map"
user 4711 'COLL_TRANSPORT=kcoll_copy collctl run -n 4 $work/installed' || fail "a program with kcoll_copy"
user 4711 'collctl doctor --require kcoll,memlock' || fail "collctl doctor is not content"
modprobe -r kcoll
INSIDE
"$top/scripts/vm/run.sh" -n -k "$kernel" -t 500 "bash $work/inside"
