#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the commands of kmod/README.md for administrators and users on a machine with Debian's packages only: a virtual
# one with a writable copy of this machine's files. Prints TAP.
#
#   tests/kmod/install-in-vm.sh BUILD KERNEL     BUILD: where cmake has built the library; 77: cannot be done here
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
self=$here/${0##*/}
top=$(cd "$here/../.." && pwd)
version=$(awk -F'"' '/^PACKAGE_VERSION/ {print $2}' "$top/dkms.conf")

# ---- in the virtual machine -----------------------------------------------------------------------------------------

number=0 failures=0
# step NAME COMMAND...: prints a line of TAP, with the output of the command if it fails.
step() {
    local name=$1 start=$SECONDS status=ok
    shift
    number=$((number + 1))
    if ! "$@" > /tmp/said 2>&1; then
        sed 's/^/# /' /tmp/said
        status='not ok' failures=1
    fi
    echo "$status $number - $name"
    echo "# $name: $((SECONDS - start)) s"
}

# doctor FIELD CHECK [COMMAND...]: prints a field of collctl doctor; COMMAND starts it as another user.
doctor() {
    local field=$1 check=$2
    shift 2
    { "$@" collctl doctor --json || true; } |
        python3 -c "import json, sys; print(next(c.get('$field', '') for c in json.load(sys.stdin)['checks'] if c['check'] == '$check'))"
}

# fixed CHECK [COMMAND...]: the check fails, and succeeds after the command that doctor prints.
fixed() {
    local fix
    [ "$(doctor state "$@")" != fine ] || { echo "nothing is missing"; return 1; }
    doctor found "$@"
    fix=$(doctor fix "$@")
    echo "\$ $fix"
    sudo() { "$@"; }
    eval "$fix" || return
    [ "$(doctor state "$@")" = fine ] || { doctor found "$@"; return 1; }
}

# A user who has just logged in, with current limits and groups.
user() { su --login ada --command "ulimit -c 0; $*"; }
as_user() { user "PATH=$PATH $*"; }

without_module() { doctor found kcoll | grep -c 'kernel module is not installed' && [ ! -e /dev/kcoll ]; }
# The commands of make install after the build.
library() { cmake --install "$build" --prefix /usr/local && ldconfig && collctl --version && pkg-config --exists libcoll; }
# Two of the three commands of doctor ran outside, where compiling takes seconds: dkms add, dkms build.
module() {
    doctor fix kcoll | tee >(cat >&2) | grep -cx "dkms add . && dkms install kcoll/$version && modprobe kcoll" || return
    cp -r "$staged/src/kcoll-$version" /usr/src/ && mkdir -p /var/lib/dkms && cp -r "$staged/dkms/kcoll" /var/lib/dkms/ || return
    ln -sfn "/usr/src/kcoll-$version" "/var/lib/dkms/kcoll/$version/source"
    dkms install "kcoll/$version" && dkms status | tee >(cat >&2) | grep -c "^kcoll/$version, $(uname -r), .*: installed" || return
    fixed kcoll && modinfo kcoll && lsmod | grep -c kcoll
}

parameters() {
    modprobe -r kcoll && modprobe kcoll gate_limit=8 max_pinned_mb=256 || return
    grep -x 8 /sys/module/kcoll/parameters/gate_limit && grep -x 256 /sys/module/kcoll/parameters/max_pinned_mb || return
    modprobe -r kcoll && echo 'options kcoll unpin_delay_ms=5' > /etc/modprobe.d/kcoll.conf && modprobe kcoll || return
    grep -x 5 /sys/module/kcoll/parameters/unpin_delay_ms || return
    echo 40 > /sys/module/kcoll/parameters/unpin_delay_ms && grep -x 40 /sys/module/kcoll/parameters/unpin_delay_ms
}
# The table of the guide has every parameter of the module with its default, and no other one.
table_of_parameters() {
    local parameter
    rm -f /etc/modprobe.d/kcoll.conf
    modprobe -r kcoll && modprobe kcoll || return
    for parameter in /sys/module/kcoll/parameters/*; do echo "${parameter##*/} $(cat "$parameter")"; done > /tmp/have
    awk -F' *[|] *' '/^[|] parameter/ {inside = 1; next} inside && /^[|] `/ {gsub(/`/, "", $2); print $2, $3}' \
        "$top/kmod/README.md" | sort > /tmp/printed
    diff /tmp/printed <(sort /tmp/have)
}

rule() {
    groupadd --system kcoll && cp "$top/kmod/60-kcoll.rules" /etc/udev/rules.d/ || return
    /lib/systemd/systemd-udevd --daemon && udevadm control --reload && udevadm trigger /dev/kcoll && udevadm settle || return
    [ "$(stat -c '%G %a' /dev/kcoll)" = 'kcoll 660' ] || { stat /dev/kcoll; return 1; }
    # The rule also applies after the module was loaded again.
    modprobe -r kcoll && modprobe kcoll && udevadm settle
    [ "$(stat -c '%G %a' /dev/kcoll)" = 'kcoll 660' ] || { stat /dev/kcoll; return 1; }
}
group() { fixed kcoll as_user; }
memlock() { fixed memlock as_user && [ "$(user ulimit -l)" = unlimited ]; }
tracing() { echo 1 > /proc/sys/kernel/yama/ptrace_scope && fixed ptrace_scope as_user; }
shared_memory() { mount -o remount,size=16M /dev/shm && fixed dev_shm; }
huge_pages() { echo never > /sys/kernel/mm/transparent_hugepage/enabled && fixed huge_pages; }
well() { as_user collctl doctor --require kcoll,cma,memlock && as_user collctl info | tee >(cat >&2) | grep -c '/dev/kcoll exists$'; }

program() {
    # shellcheck disable=SC2046
    cc -std=c11 -Wall -Werror $(pkg-config --cflags libcoll) "$here/installed.c" -o /usr/local/bin/installed $(pkg-config --libs libcoll) &&
        ldd /usr/local/bin/installed | grep -c 'libcoll.so.* => /usr/local'
}
runs_by() { as_user "COLL_LOG=info COLL_TRANSPORT=$1 collctl run -n 4 installed" 2>&1 | tee >(cat >&2) | grep -c "transport $1, forced"; }

# The guide's last option, with a new key.
signature() {
    local work=/tmp/key module
    mkdir -p $work && module=$(modinfo -n kcoll) || return
    openssl req -new -x509 -newkey rsa:2048 -nodes -days 2 -subj '/CN=kcoll test/' -keyout $work/key -outform DER -out $work/cert.der || return
    if [[ $module == *.xz ]]; then xz -dc "$module" > $work/kcoll.ko; else cp "$module" $work/kcoll.ko; fi
    "$(dirname "$(realpath "/lib/modules/$(uname -r)/build/scripts")")/scripts/sign-file" sha256 $work/key $work/cert.der $work/kcoll.ko || return
    modinfo $work/kcoll.ko | tee >(cat >&2) | grep -c 'signer: *kcoll test'
}
removal() {
    modprobe -r kcoll && dkms remove "kcoll/$version" --all && ! modprobe kcoll
}

inside() {
    useradd --create-home --shell /bin/bash ada
    step library library
    step doctor_says_that_no_module_is_installed without_module
    step dkms module
    step parameters parameters
    step table_of_parameters table_of_parameters
    step udev_rule rule
    step doctor_names_the_group group
    step doctor_raises_the_limit_on_locked_memory memlock
    step doctor_permits_tracing tracing
    step doctor_enlarges_shared_memory shared_memory
    step doctor_switches_huge_pages_on huge_pages
    step doctor_and_info_are_content well
    step program_by_pkg_config program
    for transport in kcoll_copy kcoll_map kcoll_uring; do
        step "program.$transport" runs_by $transport
    done
    step signature signature
    step removal removal
    echo "1..$number"
    exit $failures
}

# A writable root: this machine's files below, memory above.
enter() {
    local root=/mnt/root release place
    release=$(uname -r)
    mount -t tmpfs -o size=1500M tmpfs /mnt && mkdir $root /mnt/upper /mnt/work || exit 1
    mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work overlay $root || exit 1
    for place in proc sys dev run tmp; do mount --rbind /$place $root/$place; done
    # Without the kernel's own modules, all of which depmod would read.
    mkdir -p "$root/lib/modules/$release" && cp -P "$1"/{build,modules.builtin,modules.order} "$root/lib/modules/$release/" || exit 1
    ln -sfn /proc/self/fd /dev/fd
    # udevadm does nothing if the root is not that of process 1.
    export SYSTEMD_IGNORE_CHROOT=1
    exec chroot $root "$self" --inside "$build" "$staged"
}

case $1 in
--enter) build=$2 staged=$3 && enter "$4" ;;
--inside) build=$2 staged=$3 && inside ;;
esac

# ---- on the host
# ------------------------------------------------------------------------------------------------------

build=$(realpath "$1") kernel=$2
# shellcheck source=../../scripts/vm/common.sh
. "$top/scripts/vm/common.sh"
need dkms pkg-config udevadm:udev openssl
"$top/scripts/vm/kernels.sh" "$kernel" || exit
# In the build directory, because the virtual machine has its own /tmp.
staged=$(mktemp -d "$build/install-in-vm.XXXXXX")
trap 'rm -rf "$staged"' EXIT
mkdir -p "$staged/src/kcoll-$version" "$staged/dkms"
(cd "$top" && cp -r dkms.conf kmod include "$staged/src/kcoll-$version/")
for step in add "build -k $(cat "$cache/$kernel/release") --kernelsourcedir $cache/$kernel/headers"; do
    # shellcheck disable=SC2086
    dkms $step -m kcoll -v "$version" --dkmstree "$staged/dkms" --sourcetree "$staged/src" > "$staged/log" 2>&1 ||
        { cat "$staged/log" >&2; exit 1; }
done
"$top/scripts/vm/run.sh" -n -k "$kernel" -t 1100 \
    "bash '$self' --enter '$build' '$staged' '$(realpath "$cache/$kernel/modules")'"
