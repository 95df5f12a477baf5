#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# wheel.sh TOP BUILD: a wheel, installed into an empty virtual environment, serves two ranks with the libraries that it
# brings along. Exit status 77: a tool is missing.
set -euo pipefail
top=$1 build=$2
for tool in patchelf objdump; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
python=/usr/bin/python3
"$python" -c 'import setuptools, wheel, venv, ensurepip' 2>/dev/null ||
  { echo "skipped: Debian's python3-setuptools, python3-wheel or python3-venv is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=/usr/bin:$PATH "$top/scripts/make-wheel.sh" "$build" "$work"
"$python" -m venv "$work/environment"
"$work/environment/bin/pip" --quiet install --no-index "$work"/*.whl
cat >"$work/program.py" <<'END'
import array
import os

import coll

comm = coll.Communicator.from_launcher()
total = array.array("d", [0.0])
comm.allreduce(array.array("d", [comm.rank + 1.0]), total)
names = {line.split()[-1] for line in open("/proc/self/maps")}
mapped = {name for name in names if "libcoll.so" in name or "libhwloc.so" in name}
inside = os.path.join(os.path.dirname(coll.__file__), "_lib")
assert mapped and all(path.startswith(inside) for path in mapped), mapped
print("total", total[0])
END
env -i PATH=/usr/bin:/bin HOME="$work" "$build/tools/collctl" run -n 2 "$work/environment/bin/python" "$work/program.py" | tee "$work/out"
[ "$(grep -c '^total 3.0$' "$work/out")" = 2 ]
