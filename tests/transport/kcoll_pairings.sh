#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kcoll_pairings.sh KERNEL PROGRAM OTHER VERSION: runs, in a virtual machine, the module and the library of this tree,
# each with itself and with another version of the interface: equal versions work, others are refused with a sentence,
# and the module stays intact. PROGRAM: kcoll_pairing.cc as the library is; OTHER: as one of VERSION. 77: this machine
# cannot run one.
set -u
kernel=$1 program=$2 other=$3 version=$4
top=$(cd "$(dirname "$0")/../.." && pwd)
module=$(KCOLL_UAPI_VERSION=$version "$top/scripts/vm/build-module.sh" "$kernel") || exit
sentence='the loaded kcoll module has another interface version than this library; install both from one release'
# shellcheck disable=SC2016
exec "$top/scripts/vm/run.sh" -k "$kernel" -t 800 '
    pair() { # COMMAND EXPECTED_STATUS
        said=$("$1") status=$?
        echo "module $module: $said"
        [ $status = "$2" ] || failed=1
        [ $status != 3 ] || case $said in *"'"$sentence"'"*) ;; *) failed=1 ;; esac
    }
    failed=0 module="of this version"
    pair "'"$program"'" 0
    pair "'"$other"'" 3
    /run/busybox rmmod kcoll && /run/busybox insmod "'"$module"'" || failed=1
    module="of version '"$version"'"
    pair "'"$program"'" 3
    pair "'"$other"'" 0
    /run/busybox rmmod kcoll && /run/busybox insmod /run/kcoll.ko || failed=1
    exit $failed'
