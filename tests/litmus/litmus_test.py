#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs every litmus test of this folder in herd7 and compares what it observes with the line `expected` of the file."""
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = re.compile(r"^\(\* expected: (Never|Sometimes|Always) \*\)$", re.MULTILINE)
OBSERVED = re.compile(r"^Observation (\S+) (Never|Sometimes|Always)\b", re.MULTILINE)


def main():
    tests = sorted(HERE.glob("*.litmus"))
    expected = {}
    for test in tests:
        found = EXPECTED.search(test.read_text())
        if not found or test.read_text().split("\n", 1)[0].split()[1] != test.stem:
            sys.exit(f"{test}: the first line must name the test as its file, and a line must say what is expected")
        expected[test.stem] = found.group(1)
    if not {"Never", "Sometimes"} <= set(expected.values()):
        sys.exit(f"{HERE}: {len(tests)} litmus tests, which do not cover both outcomes")
    if shutil.which("herd7") is None:
        print(f"herd7 is not installed (Debian unstable: apt-get install herdtools7): {len(tests)} litmus tests are not run")
        return 77
    wrong = []
    for test in tests:
        done = subprocess.run(["herd7", str(test)], capture_output=True, text=True, timeout=60)
        observed = OBSERVED.search(done.stdout)
        outcome = observed.group(2) if observed else (done.stderr or done.stdout).strip()
        print(f"{test.stem}: {outcome}")
        if done.returncode != 0 or outcome != expected[test.stem]:
            wrong.append(f"{test.name}: expected {expected[test.stem]}, herd7 says {outcome}")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
