# SPDX-License-Identifier: BSD-3-Clause
"""Runs the quick tests of the backend if this Python has torch, pytest and torch_coll; else skips, with the reason."""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

for module in ("torch", "pytest", "torch_coll"):
    found = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, check=False)
    if found.returncode != 0:
        print(f"skipped: {sys.executable} has no {module}; make test-torch SYSTEM=12|13|sid runs these tests in a "
              "Debian root with torch")
        sys.exit(77)
for name in ("collectives_test.py", "works_test.py"):
    done = subprocess.run([sys.executable, "-B", str(HERE / "run.py"), "2", name], check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
