#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""console_test.py TOP [--update]: runs the commands of blocks that are marked <!-- checked --> and compares what they
print with what the block says. A line "..." in a block stands for any number of lines. --update rewrites blocks that
have no such line."""

import difflib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pages

MARK = "<!-- checked -->"


def sessions(block):
    """[(command, lines of its output)]"""
    found = []
    for line in block.text:
        if line.startswith("$ "):
            found.append([line[2:], []])
        elif found and line.startswith("> ") and not found[-1][1]:
            found[-1][0] = found[-1][0].removesuffix("\\") + " " + line[2:]  # continued
        elif found:
            found[-1][1].append(line)
        else:
            raise ValueError(f"{block.path}:{block.line}: the block must begin with '$ COMMAND'")
    return found


def run(command):
    words = shlex.split(command)
    if words[0] != "collctl":
        raise ValueError(f"only collctl can be checked, not {words[0]}")
    env = {name: value for name, value in os.environ.items() if not name.startswith("COLL_")}
    done = subprocess.run([os.environ["COLLCTL"], *words[1:]], capture_output=True, text=True, timeout=60,
                          env=dict(env, COLL_CONFIG="none", COLUMNS="100"))
    if done.returncode != 0:
        raise ValueError(f"exit status {done.returncode}: {done.stderr.strip()}")
    return [line.rstrip() for line in done.stdout.splitlines()]


def same(expected, printed):
    pattern = "".join("(?:.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in expected)
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None


def main():
    update = "--update" in sys.argv
    top = Path(next((a for a in sys.argv[1:] if not a.startswith("-")), "."))
    checked = faults = 0
    for path in pages.pages(top):
        for block in pages.blocks(path):
            if block.before != MARK:
                continue
            for command, expected in sessions(block):
                checked += 1
                try:
                    printed = run(command)
                except ValueError as fault:
                    print(f"{path}:{block.line}: {command}: {fault}")
                    faults += 1
                    continue
                if same(expected, printed):
                    continue
                if update and "..." not in expected:
                    text = path.read_text(encoding="utf-8")
                    before, after = ("".join(line + "\n" for line in lines) for lines in (expected, printed))
                    path.write_text(text.replace(f"$ {command}\n{before}", f"$ {command}\n{after}", 1), encoding="utf-8")
                    print(f"updated {path}:{block.line}")
                    continue
                faults += 1
                print(f"{path}:{block.line}: {command} prints something else:")
                print("\n".join(difflib.unified_diff(expected, printed, "the page", "collctl", lineterm="")))
    print(f"{checked} commands checked, {faults} faults")
    if checked == 0:
        print(f"no block is marked {MARK}")
    return 1 if faults or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
