#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds torch_coll for this machine's torch, by CMake and by setuptools, and runs its tests. Finds libcoll through
# pkg-config and CMake; COLL_PREFIX, or /added of a root of scripts/clean-root.sh, names a place that they do not search.
#
#   scripts/test-torch-here.sh [--upstream]
#
#   --upstream   builds it by setuptools only and runs torch's own tests of torch.distributed instead
set -euo pipefail

case ${1:-} in '' | --upstream) ;; *) printf "test-torch-here: unknown option '%s'\n" "$1" >&2; exit 2 ;; esac
checkout=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
"$python" -c 'import torch, pytest' 2>/dev/null || {
  echo 'test-torch-here: this Python has no torch or no pytest; make test-torch SYSTEM=13 uses a Debian root' >&2
  exit 2
}
prefix=${COLL_PREFIX:-}
[ -n "$prefix" ] || [ ! -d /added/lib/pkgconfig ] || prefix=/added
[ -z "$prefix" ] || export PKG_CONFIG_PATH=$prefix/lib/pkgconfig CMAKE_PREFIX_PATH=$prefix LD_LIBRARY_PATH=$prefix/lib

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MAX_JOBS=${JOBS:-$(nproc)}

build() {
  local log=$work/log
  "$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
}
if [ "${1:-}" != --upstream ]; then
  echo '== torch_coll by CMake'
  build cmake -S "$checkout/torch" -B "$work/cmake" -DPython3_EXECUTABLE="$(command -v "$python")"
  build cmake --build "$work/cmake" --parallel "$MAX_JOBS"
  (cd / && PYTHONPATH=$work/cmake "$python" -c 'import torch_coll')
fi

echo '== torch_coll by pip'
cp -r "$checkout/torch" "$work/source"
build "$python" -m pip install --no-build-isolation --no-deps --target "$work/installed" "$work/source"

export PYTHONPATH=$work/installed
if [ "${1:-}" = --upstream ]; then
  "$python" -B "$checkout/tests/torch/upstream.py"
  exit
fi
run() { echo "== $2, ranks: $1"; "$python" -B "$checkout/tests/torch/run.py" "$@"; }
for ranks in 1 2 3; do
  run "$ranks" collectives_test.py
  run "$ranks" works_test.py
done
run 2 training_test.py
run 1 failures_test.py
