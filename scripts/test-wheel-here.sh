#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs a wheel of the Python module into an empty virtual environment, and runs two ranks with the libraries that it
# brings along.
#
#   scripts/test-wheel-here.sh [WHEEL]
#
#   WHEEL   default: the one in /added, of a root of scripts/clean-root.sh
#
# Needs Python with venv (Debian: python3-venv); PYTHON names another than python3.
set -euo pipefail

case ${1:-} in -h | --help) sed -n '4,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;; esac
wheel=${1:-$(echo /added/*.whl)}
[ -f "$wheel" ] || { printf 'test-wheel: %s is not there: make wheel builds one\n' "$wheel" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/environment"
"$work/environment/bin/pip" --quiet install --no-index "$wheel"
cat >"$work/program.py" <<'END'
import array
import os

import coll

comm = coll.Communicator.from_launcher()
total = array.array("d", [0.0])
comm.allreduce(array.array("d", [comm.rank + 1.0]), total)
assert comm.size == 2 and total[0] == 3.0, total
names = {line.split()[-1] for line in open("/proc/self/maps")}
mapped = {name for name in names if "libcoll.so" in name or "libhwloc.so" in name}
inside = os.path.join(os.path.dirname(coll.__file__), "_lib")
assert len(mapped) >= 2 and all(path.startswith(inside) for path in mapped), mapped
print(f"rank {comm.rank} of {comm.size}: libcoll {coll.library_version()}, total {total[0]}")
END
run() {
  env -i PATH=/usr/bin:/bin HOME="$work" COLL_RANK="$1" COLL_SIZE=2 COLL_RENDEZVOUS="test-wheel-$$" \
    timeout 60 "$work/environment/bin/python" "$work/program.py"
}
run 1 &
run 0
wait $!
