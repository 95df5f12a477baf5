# SPDX-License-Identifier: BSD-3-Clause
"""Runs collctl with the kernel module, in a virtual machine that scripts/vm boots."""
import json
import os
import pathlib
import subprocess
import sys

RUN = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "vm" / "run.sh"


def machine(kernel, *commands, limit=800):
    """Returns the lines that the commands print within `limit` seconds. Ends the test if one fails, with 77 if this
    machine cannot run a virtual one. $COLLCTL is the tool."""
    script = " && ".join(commands)
    done = subprocess.run([RUN, "-k", kernel, "-t", str(limit), f"export COLLCTL='{os.environ['COLLCTL']}'; {script}"],
                          capture_output=True, text=True)
    if done.returncode == 77:
        print(done.stderr.strip().splitlines()[-1])
        sys.exit(77)
    if done.returncode != 0:
        sys.exit(f"status {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def quietly(command):
    """Output and errors share one terminal: errors are printed only for commands that fail."""
    return f"{{ {command} 2> /tmp/errors || {{ cat /tmp/errors; false; }}; }}"


def collctl(kernel, arguments):
    """Runs a command and parses its output as JSON."""
    return json.loads(machine(kernel, quietly(f"$COLLCTL {arguments} --json")))
