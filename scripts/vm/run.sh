#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Boots a kernel in QEMU, loads kcoll, runs a command there, prints its output, returns its exit status.
#
#   scripts/vm/run.sh [-k KERNEL] [-p 'module parameters'] [-n] [-t seconds] command...
#
#   -k  6.1 (the default), 6.12, a suite such as sid (kernels.sh), debug, kcsan or debug-6.12 (debug-kernel.sh)
#   -n  does not load the module (it is at /run/kcoll.ko)
#   CPUS=4 MEMORY=2G QEMU_ARGS= VM_CPU=max ICOUNT=1 (one instruction a nanosecond, so rdtsc counts instructions;
#   1,sleep=off: nor do idle processors wait, so times are those of a machine that has a processor to itself)
#
# The machine sees this machine's files, read-only, at the same places; /tmp, /run, /mnt and /dev/shm are its own and
# empty. 77: this machine cannot run one. 99: the command succeeded but the kernel complained (what it said is printed).
# 124: time out. 125: no boot.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=common.sh
. "$here/common.sh"
# The script is read as a whole before it runs, so that editing it does not disturb running machines.
main() {
kernel=6.1 parameters='' load=1 limit=600

while getopts k:p:nt: option; do
    case $option in
    k) kernel=$OPTARG ;;
    p) parameters=$OPTARG ;;
    n) load=0 ;;
    t) limit=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || { say "no command"; exit 2; }
need qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio modprobe:kmod
module=$("$here/build-module.sh" "$kernel")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The part of the initial memory file system that depends on the kernel only.
base=$cache/$kernel/base.cpio
if [ ! -e "$base" ] || [ "$here/init" -nt "$base" ] || [ "$here/run.sh" -nt "$base" ]; then
    root=$work/root
    mkdir -p "$root"/{bin,proc,sys,dev,host,modules}
    cp "$(command -v busybox)" "$root/bin/busybox"
    cp "$here/init" "$root/init"
    chmod +x "$root/init"
    : > "$root/modules/order"
    if [ -d "$cache/$kernel/root/lib/modules" ]; then
        for name in virtio_pci 9pnet_virtio 9p zram lzo overlay; do
            modprobe -d "$cache/$kernel/root" -S "$(cat "$cache/$kernel/release")" --show-depends $name 2> /dev/null |
                awk '$1 == "insmod" {print $2}' || true
        done | awk '!seen[$0]++' | while read -r file; do
            name=$(basename "$file")
            case $name in
            *.xz) name=${name%.xz}; xz -dc "$file" > "$root/modules/$name" ;;
            *.zst) name=${name%.zst}; zstd -qdc "$file" > "$root/modules/$name" ;;
            *) cp "$file" "$root/modules/$name" ;;
            esac
            echo "$name" >> "$root/modules/order"
        done
    fi
    (cd "$root" && find . | cpio --quiet -o -H newc) > "$work/base.cpio"
    mv "$work/base.cpio" "$base"
fi

extra=$work/extra
mkdir -p "$extra"
cp "$module" "$extra/kcoll.ko"
[ "$load" = 0 ] || echo "$parameters" > "$extra/load"
{
    echo "cd '$PWD'"
    echo "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root KCOLL_VM=$kernel"
    echo "$*"
} > "$extra/command"
{ cat "$base"; (cd "$extra" && find . | cpio --quiet -o -H newc); } > "$work/initrd"

accelerator=(-accel tcg,thread=multi)
if [ -n "${ICOUNT:-}" ]; then
    # With a clock that counts instructions, only one processor comes up.
    accelerator=(-accel tcg,thread=single -icount "shift=0${ICOUNT#1}")
    CPUS=1
fi
# A machine that the host does not schedule for a while is not locked up.
# Its clocks are not wrong, either: a kernel that stops trusting a clock patches running code.
time_limits='tsc=nowatchdog watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=300 sysctl.kernel.hung_task_timeout_secs=300'
boot() {
    : > "$work/status"
    # shellcheck disable=SC2086
    timeout --foreground -k 5 "$limit" nice -n "${NICE:-19}" qemu-system-x86_64 -machine q35 "${accelerator[@]}" \
        -cpu "${VM_CPU:-max,la57=off}" -smp "${CPUS:-4}" -m "${MEMORY:-2G}" -nodefaults -no-user-config -display none -no-reboot \
        -kernel "$cache/$kernel/vmlinuz" -initrd "$work/initrd" \
        -append "console=ttyS0 no_timer_check hugepages=32 panic=-1 oops=panic $time_limits transparent_hugepage=madvise kmemleak=on kcsan.skip_watch=400 ${APPEND:-}" \
        -fsdev local,id=host,path=/,security_model=none,readonly=on,multidevs=remap -device virtio-9p-pci,fsdev=host,mount_tag=host \
        -serial "file:$work/console" -chardev stdio,id=out,signal=off -serial chardev:out -serial "file:$work/status" \
        ${QEMU_ARGS:-} < /dev/null
}

# Whether a breakpoint trapped that is not in memory any more. In the module only such a one is forgiven: compilers put
# breakpoints behind jumps, and one of those stays where it is.
ran_old_code() {
    grep -A12 -m1 'Oops: int3' "$work/console" > "$work/trap" || return 1
    grep -q 'RIP: 0010:.*\[kcoll\]' "$work/trap" || return 0
    grep -m1 'Code:' "$work/trap" | grep -E ' [0-9a-f]{2} <' | grep -qv ' cc <'
}

# Known faults of the emulator, after which a second boot is tried; prints which one.
emulator_failed() {
    [ $code != 124 ] || return 1
    if grep -q 'IO-APIC + timer doesn' "$work/console"; then
        say "the emulated timer did not start"
    elif ran_old_code; then
        # Occurs when code is patched while it runs (tracepoints, static keys, get_random_once()).
        say "an emulated processor ran a breakpoint that the kernel had replaced before"
    else
        return 1
    fi
}

code=0
boot || code=$?
if emulator_failed; then
    say "booting once more"
    code=0
    boot || code=$?
fi
[ -z "${CONSOLE:-}" ] || cp "$work/console" "$CONSOLE"
if [ $code = 124 ] || [ $code = 137 ]; then
    say "time out after $limit s; the kernel's last words:"
    tail -60 "$work/console" >&2
    exit 124
fi
status=$(awk '$1 == "status" {print $2}' "$work/status" | tr -d '\r')
# Data races inside the kernel, or on users' bytes during copies, are not faults of the module: only reports with an
# access by a function of the module are kept.
awk '/BUG: KCSAN/ {inside = 1; text = ""; ours = 0}
     inside {text = text $0 "\n"
             if (heading && /\[kcoll\]/) ours = 1
             heading = /(read|write).* of [0-9]+ bytes by/
             if (/======/) {inside = 0; if (ours) printf "%s", text}
             next}
     !/\] =+$/' "$work/console" > "$work/heard"
complaints='BUG:|WARNING:|KASAN|KCSAN|UBSAN|Oops|possible .* detected|possible recursive|inconsistent lock|suspicious RCU|INFO: task|rcu: INFO|soft lockup|bad page|Kernel panic|page allocation failure|ODEBUG|scheduling while atomic'
if grep -E "$complaints" "$work/heard" | grep -vEf <(sed 's/ *#.*//; /^$/d' "$here/known-complaints") > "$work/complaints"; then
    say "the kernel complained:"
    first=$(grep -nFm1 "$(head -1 "$work/complaints")" "$work/heard" | cut -d: -f1)
    tail -n +$((first > 3 ? first - 3 : 1)) "$work/heard" | head -150 >&2
    [ "${status:-125}" != 0 ] || status=99
fi
if [ -z "$status" ]; then
    say "no exit status came back; the kernel's last words:"
    tail -40 "$work/console" >&2
    status=125
fi
exit "$status"
}
main "$@"
