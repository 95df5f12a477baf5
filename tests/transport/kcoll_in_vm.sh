#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# kcoll_in_vm.sh KERNEL COMMAND...: runs a program of the build with /dev/kcoll, in a virtual machine. 77, with the
# reason: this machine cannot run one.
set -u
kernel=$1
shift
exec "$(dirname "$0")/../../scripts/vm/run.sh" -k "$kernel" -t 800 "$*"
