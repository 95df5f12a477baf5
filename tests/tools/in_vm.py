# SPDX-License-Identifier: BSD-3-Clause
"""collctl where the kernel module is: in a virtual machine that scripts/vm boots."""
import json
import os
import pathlib
import subprocess
import sys

RUN = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "vm" / "run.sh"


def collctl(kernel, arguments):
    """What it prints, read as JSON. Ends the test when it fails, with 77 where this machine cannot run a machine."""
    # Output and errors come by one terminal.
    command = f"'{os.environ['COLLCTL']}' {arguments} --json 2> /tmp/errors || {{ cat /tmp/errors; exit 1; }}"
    done = subprocess.run([RUN, "-k", kernel, "-t", "800", command], capture_output=True, text=True)
    if done.returncode == 77:
        print(done.stderr.strip().splitlines()[-1])
        sys.exit(77)
    if done.returncode != 0:
        sys.exit(f"status {done.returncode}:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)
