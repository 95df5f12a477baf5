#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds kcoll.ko and the module's tests for arm64 and runs the tests in an emulated machine, with Debian's kernel.
#
#   scripts/vm/arm64.sh [-b] KERNEL [PROGRAM...]            default: functional invalidation access
#   scripts/vm/arm64.sh -L BUILD KERNEL [PATTERN]
#
#   KERNEL   a series such as 6.12, or 6.12-16k: its kernel with pages of 16 KiB
#   -b       builds the module only
#   -L       runs the library's tests of a cross build instead (tests/kmod/arm64-library.sh)
#
# The machine of the module's tests has no files but its initial file system, which is no tmpfs: what that holds is
# shared memory, and tests want a file that is not. Programs are linked statically. The machine of the library's tests
# sees this machine's files, read-only. CPUS=4 MEMORY=2G VM_CPU=cortex-a76 LIMIT=3000 (seconds)
# 77: cannot be done here. 1: a test failed. 99: the kernel complained. 124: time out.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=common.sh
. "$here/common.sh"
usage="usage: $0 [-b] KERNEL [PROGRAM...], or $0 -L BUILD KERNEL [PATTERN]"
build_only='' library='' pattern=''
while getopts bL: option; do
    case $option in
    b) build_only=1 ;;
    L) library=$(realpath "$OPTARG") ;;
    *) echo "$usage" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
kernel=${1:?"$usage"}
shift
series=${kernel%-16k}
flavour=arm64${kernel#"$series"}
page=4096
[ "$flavour" = arm64 ] || page=16384
if [ -n "$library" ]; then
    pattern=${1:-.}
    set --
elif [ $# = 0 ]; then
    set -- functional invalidation access
fi

need apt-get:apt dpkg aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu make flock:util-linux
[ -n "$build_only" ] || need qemu-system-aarch64:qemu-system-arm cpio modprobe:kmod
[ -n "$build_only" ] || [ -e /usr/aarch64-linux-gnu/lib/libc.a ] || cannot "packages are missing here: libc6-dev-arm64-cross"
# Headers common to all architectures and the build tools of this machine's come with its own kernel of the series.
"$here/kernels.sh" "$series"
lock "arm64-$kernel"
into=$cache/arm64-$kernel
release=$(sed "s/-[^-]*\$/-$flavour/" "$cache/$series/release")
headers=$into/root/usr/src/linux-headers-$release

if [ "$(cat "$into/complete" 2> /dev/null)" != "$release" ]; then
    say "fetching Linux $release and what its tests are linked with"
    rm -rf "$into"
    mkdir -p "$into"/{packages,root} "$into"/apt/{lists,archives}/partial
    apt=(-o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Acquire::Languages=none -o APT::Sandbox::User=root
        -o "Dir::State::Lists=$into/apt/lists" -o "Dir::Cache=$into/apt")
    apt-get "${apt[@]}" -q update >&2 || true
    (cd "$into/packages" && apt-get "${apt[@]}" download -q "linux-image-$release" "linux-headers-$release" \
        busybox-static liburing2 liburing-dev >&2) || cannot "no kernel $release for arm64 can be downloaded here"
    for package in "$into"/packages/*.deb; do dpkg -x "$package" "$into/root"; done
    rm -rf "$into/packages" "$into/apt" "$into/root/usr/share/doc"
    sed -i "s#/usr/src/#$cache/$series/root/usr/src/#g" "$headers/Makefile"
    find "$headers" -type l | while read -r link; do
        target=$(readlink "$link")
        case $target in
        /usr/*) ln -sfn "$cache/$series/root$target" "$link" ;;
        ../../lib/linux-kbuild-*) ln -sfn "$cache/$series/root/usr/lib/${target#../../lib/}" "$link" ;;
        ../linux-headers-*) ln -sfn "$cache/$series/root/usr/src/${target#../}" "$link" ;;
        esac
    done
    # Without it, no type information of modules is made.
    rm -f "$headers/vmlinux"
    depmod -b "$into/root" "$release"
    echo "$release" > "$into/complete"
fi

stage=$cache/module/arm64-$kernel
copy_sources "$top" "$stage"
make_module "$stage/build.log" make -C "$headers" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- M="$stage/kmod" W=1 || exit 1
if [ -n "$build_only" ]; then
    echo "$stage/kmod/kcoll.ko"
    exit
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{bin,proc,sys,dev,tmp,run,mnt,etc,modules,tests}
cp "$into/root/bin/busybox" "$root/bin/"
cp "$stage/kmod/kcoll.ko" "$root/modules/"
names='zram lzo'
[ -z "$library" ] || names='virtio_pci 9pnet_virtio 9p'
for name in $names; do
    modprobe -d "$into/root" -S "$release" --show-depends $name 2> /dev/null | awk '$1 == "insmod" {print $2}' || true
done | awk '!seen[$0]++' | while read -r file; do
    name=$(basename "$file" .xz)
    case $file in *.xz) xz -dc "$file" ;; *) cat "$file" ;; esac > "$root/modules/$name"
    echo "$name" >> "$root/modules/order"
done
for program in "$@"; do
    aarch64-linux-gnu-gcc -static -O1 -g -std=gnu11 -D_GNU_SOURCE "-DPAGE=${page}UL" -w -I"$top/include" -idirafter "$into/root/usr/include" \
        -o "$root/tests/$program" "$top/tests/kmod/$program.c" "$top"/tests/kmod/kcoll_{test,peer}.c \
        "$(find "$into/root/usr/lib" -name liburing.a)" -lpthread
done
cat > "$root/init" <<'EOF'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
for place in /dev/shm /tmp /run /mnt; do mount -t tmpfs -o mode=1777 tmpfs $place; done
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
ip link set lo up
echo 'root:x:0:0::/:/bin/sh' > /etc/passwd
for module in $(cat /modules/order); do insmod /modules/$module; done
[ ! -e /sys/block/zram0/disksize ] || { echo 256M > /sys/block/zram0/disksize && mkswap /dev/zram0 > /dev/null && swapon /dev/zram0; }
status=0
insmod /modules/kcoll.ko || status=125
uname -m
export KCOLL_VM=arm64
[ $status != 0 ] || for program in /tests/*; do
    echo "# program ${program##*/}"
    $program || status=1
done
for try in 1 2 3 4 5 6 7 8 9 10; do
    rmmod kcoll && break
    sleep 0.2
done
[ ! -d /sys/module/kcoll ] || echo "BUG: kcoll cannot be unloaded"
cat /proc/sys/vm/stat_refresh
pins=$(awk '/nr_foll_pin_acquired/ {a = $2} /nr_foll_pin_released/ {r = $2} END {print a - r}' /proc/vmstat)
[ "${pins:-0}" = 0 ] || echo "BUG: $pins pages are still pinned"
echo "machine status $status"
sync
poweroff -f
EOF
chmod +x "$root/init"
if [ -n "$library" ]; then
    # Programs run in a root that is this machine's, where only a shell for arm64 is missing.
    cat > "$root/tests/library" << EOF
#!/bin/sh
mkdir /host
mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose,msize=262144 host /host || exit 1
for place in proc sys dev; do mount -o rbind /\$place /host/\$place; done
for place in tmp run mnt; do mount -t tmpfs -o mode=1777 tmpfs /host/\$place; done
cp /bin/busybox /host/run/
exec chroot /host /run/busybox sh '$top/tests/kmod/arm64-library.sh' '$library' '$pattern'
EOF
    chmod +x "$root/tests/library"
fi
(cd "$root" && find . | cpio --quiet -o -H newc) > "$work/initrd"
# Huge pages of 2 MiB on either kernel: with 16 KiB pages the default is 32 MiB.
huge='default_hugepagesz=2M hugepagesz=2M hugepages=32'
share=()
[ -z "$library" ] || share=(-fsdev "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap"
    -device virtio-9p-pci,fsdev=host,mount_tag=host)
code=0
timeout --foreground -k 5 "${LIMIT:-3000}" nice -n 19 qemu-system-aarch64 -machine virt,gic-version=3 -cpu "${VM_CPU:-cortex-a76}" \
    -smp "${CPUS:-4}" -m "${MEMORY:-2G}" -nodefaults -no-user-config -display none -no-reboot -kernel "$into/root/boot/vmlinuz-$release" \
    -initrd "$work/initrd" -serial stdio "${share[@]}" -append "console=ttyAMA0 rootfstype=ramfs loglevel=5 $huge panic=-1 oops=panic \
        transparent_hugepage=madvise rcupdate.rcu_cpu_stall_timeout=300 sysctl.kernel.hung_task_timeout_secs=300" \
    < /dev/null | tr -d '\r' | tee "$work/console" || code=$?
[ $code != 124 ] || exit 124
status=$(awk '/^machine status/ {print $3}' "$work/console")
if grep -qE 'BUG:|WARNING:|Oops|possible .* detected|INFO: task|rcu: INFO|bad page|Kernel panic' "$work/console"; then
    say "the kernel complained"
    [ "${status:-125}" != 0 ] || status=99
fi
exit "${status:-125}"
