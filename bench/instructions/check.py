#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the instructions of representative calls under callgrind and compares them with what was recorded.

Instructions do not depend on what else the machine does, so this catches what timings on a shared machine cannot. They
do depend on the compiler and on the processor's vector instructions: recorded.json keeps one set for each."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

RECORDED = Path(__file__).resolve().parent / "recorded.json"
CALLS_COUNTED = 100  # repetitions in calls.cc
ALLOWED = 1.03
FIXED = {"COLL_STAGING": "cached",  # no choice that depends on timing under valgrind
         # Valgrind would count every iteration of `rep movsb`.
         "GLIBC_TUNABLES": "glibc.cpu.x86_rep_movsb_threshold=1000000000"}


def environment(build):
    """What the counts depend on, as a key of recorded.json."""
    cache = (Path(build) / "CMakeCache.txt").read_text(encoding="utf-8")
    compiler = re.search(r"CMAKE_CXX_COMPILER:\w+=(.*)", cache).group(1)
    version = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    # The C library's copies and the library's kernels are chosen by what valgrind lets the program see: at most AVX2.
    flags = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
    vector = "avx2" if flags and " avx2 " in flags.group(1) + " " else "no avx2"
    libc = re.search(r"(\d+\.\d+)\n", subprocess.run(["ldd", "--version"], capture_output=True, text=True,
                                                      check=True).stdout).group(1)
    return f"{Path(compiler).name} {version}, C library {libc}, {vector}"


def count(program):
    """Instructions of each call, both ranks together."""
    counts = {}
    with tempfile.TemporaryDirectory() as where:
        subprocess.run(["valgrind", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=out", str(program)],
                       cwd=where, env={**os.environ, **FIXED},
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for dump in Path(where).glob("out*"):
            text = dump.read_text(encoding="utf-8", errors="replace")
            trigger = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.M)
            total = re.search(r"^(?:summary|totals): (\d+)", text, re.M)
            if trigger and total:
                counts[trigger.group(1)] = int(total.group(1)) / CALLS_COUNTED
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", help="build directory")
    parser.add_argument("--record", action="store_true", help="take today's counts as the ones to compare with")
    options = parser.parse_args()
    program = Path(options.build) / "bench" / "instruction_calls"
    if not program.exists():
        print(f"{program} is missing: install valgrind (its headers are needed to build it) and build again",
              file=sys.stderr)
        return 1
    try:
        counts = count(program.resolve())
    except subprocess.CalledProcessError as error:
        print(f"callgrind failed:\n{error.stderr.decode(errors='replace')[-2000:]}", file=sys.stderr)
        return 1
    if not counts:
        print("callgrind wrote no counts", file=sys.stderr)
        return 1
    key = environment(options.build)
    recorded = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    if options.record:
        recorded[key] = {name: round(value) for name, value in sorted(counts.items())}
        RECORDED.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"recorded {len(counts)} calls for {key}")
        return 0
    before = recorded.get(key)
    if before is None:
        print(f"Nothing is recorded for {key}; there is for: {'; '.join(recorded) or 'nothing'}.\n"
              f"Record a state that you trust: {sys.argv[0]} {options.build} --record", file=sys.stderr)
        return 1
    print(f"Instructions of a call, two ranks together; {key}\n{'':>20} {'recorded':>10} {'now':>10}")
    grown = 0
    for name in sorted(before.keys() | counts.keys()):
        old, new = before.get(name), counts.get(name)
        if old is None or new is None:
            verdict = "is not recorded" if old is None else "was not counted"
            grown += 1
        else:
            verdict = f"{new / old:6.3f}" + (f"  grew by more than {(ALLOWED - 1) * 100:.0f} %" if new > old * ALLOWED else "")
            grown += new > old * ALLOWED
        print(f"{name:>20} {old or 0:>10.0f} {new or 0:>10.0f}  {verdict}")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
