#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# wheel.sh TOP BUILD: a wheel, installed into an empty virtual environment, serves two ranks with the libraries that it
# brings along. Exit status 77: a tool is missing.
set -euo pipefail
top=$1 build=$2
for tool in patchelf objdump; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
export PYTHON=/usr/bin/python3
"$PYTHON" -c 'import setuptools, wheel, venv, ensurepip' 2>/dev/null ||
  { echo "skipped: Debian's python3-setuptools, python3-wheel or python3-venv is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=/usr/bin:$PATH "$top/scripts/make-wheel.sh" "$build" "$work"
"$top/scripts/test-wheel-here.sh" "$work"/*.whl
