# SPDX-License-Identifier: BSD-3-Clause
"""collctl where the kernel module is: in a virtual machine that scripts/vm boots."""
import json
import os
import pathlib
import subprocess
import sys

RUN = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "vm" / "run.sh"


def machine(kernel, *commands, limit=800):
    """What the commands print, each line of it, within `limit` seconds. Ends the test when one fails, with 77 where this
    machine cannot run a machine. $COLLCTL is the tool."""
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
    """Output and errors come by one terminal: errors are shown only of what has failed."""
    return f"{{ {command} 2> /tmp/errors || {{ cat /tmp/errors; false; }}; }}"


def collctl(kernel, arguments):
    """What it prints, read as JSON."""
    return json.loads(machine(kernel, quietly(f"$COLLCTL {arguments} --json")))
