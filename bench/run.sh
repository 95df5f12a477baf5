#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Usage: bench/run.sh BUILD_DIR [options of bench/driver/compare.py], e.g. --quick, --ranks 8, --json FILE, --svg FILE
set -eu
here=$(dirname "$0")
exec python3 -B "$here/driver/compare.py" "$@"
