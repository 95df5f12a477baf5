# SPDX-License-Identifier: BSD-3-Clause
"""run.py RANKS FILE: runs pytest on FILE, as RANKS ranks of collctl run, or in one process where RANKS is 0. Exits with
status 77, after the reason, if no Python here has pytest."""
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def interpreter():
    """Returns the Python that runs this or that of the distribution: one with pytest, preferably with numpy."""
    candidates = [sys.executable, "/usr/bin/python3"]
    for modules in ("pytest, numpy", "pytest"):
        for python in candidates:
            found = subprocess.run([python, "-c", f"import {modules}"], capture_output=True, check=False)
            if found.returncode == 0:
                return python
    print("skipped: no pytest for", " or ".join(candidates), "(Debian: apt-get install python3-pytest python3-numpy)")
    sys.exit(77)


def main():
    ranks, name = int(sys.argv[1]), sys.argv[2]
    # -rs lists what is skipped, and why.
    command = [interpreter(), "-B", "-m", "pytest", "-x", "-q", "-rs", "-p", "no:cacheprovider",
               "--import-mode=importlib", "--rootdir", str(HERE), str(HERE / name)]
    if ranks:
        command = [os.environ["COLLCTL"], "run", "-n", str(ranks), "--bind", "none", "--tag", *command]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout)
    # pytest calls it a success when a file has no tests, or all of them are skipped.
    if done.returncode == 0 and not re.search(r"\d+ passed", done.stdout):
        sys.exit(77)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
