#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# kcoll_in_vm.sh KERNEL COMMAND...: runs a program of the build where /dev/kcoll is: in a virtual machine. 77: this
# machine cannot run one, and says why.
set -u
kernel=$1
shift
exec "$(dirname "$0")/../../scripts/vm/run.sh" -k "$kernel" -t 800 "$*"
