#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Usage: bench/run.sh BUILD_DIR [options of bench/driver/compare.py], e.g. --quick, --ranks 8, --json FILE, --svg FILE
# Compares libcoll with the MPI libraries and the native API with the limits of the machine, measures the cost of a step, and
# compares predicted with measured times.
set -u
here=$(dirname "$0")
build=$1
python3 -B "$here/driver/compare.py" "$@"
status=$?
case " $* " in *" --ranks "* | *" --only "* | *" -h "* | *" --help "*) exit $status ;; esac
if [ -x "$build/bench/native_limits" ]; then
  printf '\nThe native API and the limits of the machine\n'
  "$build/bench/native_limits" || [ $? -eq 77 ] || status=3
fi
if [ -x "$build/bench/micro_exec" ]; then
  printf '\nThe price of a step\n'
  "$build/bench/micro_exec" --benchmark_min_time=0.2 2>/dev/null || status=1
fi
collctl=$build/tools/collctl
if [ -x "$collctl" ]; then
  printf '\nWhat the table of this machine predicts, and what it chooses\n'
  # Creates a table for this benchmark unless the user has one.
  if "$collctl" info --no-probe --json | grep -q '"path": null'; then
    COLL_TABLE=$build/bench/table.json
    export COLL_TABLE
    env -u COLL_TABLE "$collctl" calibrate --output "$COLL_TABLE" >/dev/null || status=1
  fi
  "$collctl" bench prediction || status=1
fi
case " $* " in *" --check "*) exit $status ;; esac
[ $status -eq 3 ] && status=0
exit $status
