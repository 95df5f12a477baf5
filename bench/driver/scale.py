#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures the cost of communicators of many ranks: runs `collctl bench scale` some times and prints the median of each quantity;
with --record FILE it writes them as a record of docs/measurements."""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

import checked
import record

MIB = 1 << 20


def ms(seconds):
    return f"{seconds * 1e3:.0f} ms" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def calls_of(collective):
    return {f"{collective}, {which} call": lambda column, c=collective, key=f"{which}_s": ms(column["calls"][c][key])
            for which in ("first", "later")}


# A row's name, and its cell of a column of `collctl bench scale --json`.
ROWS = {
    "bare processes": lambda c: ms(c["bare_s"]),
    "first communicator": lambda c: ms(c["create_s"]),
    "first communicator / bare processes": lambda c: f"{c['create_s'] / c['bare_s']:.2f}",
    "split": lambda c: ms(c["split_s"]),
    "free": lambda c: ms(c["free_s"]),
    "descriptors of a communicator": lambda c: str(c["created"]["descriptors"] - c["before"]["descriptors"]),
    "address space, MiB": lambda c: f"{(c['created']['address_space_bytes'] - c['before']['address_space_bytes']) / MIB:.0f}",
    "load: page tables, MiB": lambda c: f"{c['load']['footprint']['page_table_bytes'] / MIB:.2f}",
    "load: memory, MiB": lambda c: f"{c['load']['footprint']['proportional_bytes'] / MIB:.1f}",
    "load: wall time, s": lambda c: f"{c['load']['wall_s']:.2f}",
    "load: wall time / bare processes": lambda c: f"{c['load']['wall_s'] / c['bare_s']:.1f}",
    "load: system time, s": lambda c: f"{c['load']['system_s']:.2f}",
    **calls_of("barrier"), **calls_of("allreduce"), **calls_of("allgather"), **calls_of("alltoall"),  # of 8 B
}


def median_of(columns):
    """Merges the columns of several runs: the median of every number."""
    first = columns[0]
    if isinstance(first, dict):
        return {key: median_of([column[key] for column in columns]) for key in first}
    return statistics.median(columns)


def run(build, ranks):
    command = [Path(build) / "tools" / "collctl", "bench", "scale", "-n", ranks, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"scale.py: {' '.join(map(str, command))} ended with {done.returncode}")
    columns = json.loads(done.stdout)["columns"]
    for column in columns:
        if "problem" in column:
            raise SystemExit(f"scale.py: {column['ranks']} ranks: {column['problem']}")
    return columns


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=checked.build_directory)
    parser.add_argument("--ranks", default="2,8,32,128", help="default: %(default)s")
    parser.add_argument("--rounds", type=checked.positive, default=3, help="default: %(default)s")
    record.add_arguments(parser)
    options = parser.parse_args()
    circumstances = record.circumstances(options.machine)
    rounds = [run(options.build, options.ranks) for _ in range(options.rounds)]
    columns = [median_of(list(of_one_number)) for of_one_number in zip(*rounds)]
    rows = {name: [cell(column) for column in columns] for name, cell in ROWS.items()}
    heads = [f"{column['ranks']} ranks" for column in columns]
    for name, cells in (("", heads), *rows.items()):
        print(f"{name:<38}" + "".join(f"{cell:>16}" for cell in cells))
    if options.record:
        record.write(options.record, record.new(
            circumstances, "scale", circumstances["machine"]["name"],
            "Communicators among ranks that share the cores; times are those of the slowest rank, memory that of the largest",
            f"median of {options.rounds} runs", "as each row says", heads, rows,
            ranks=columns[-1]["ranks"], rounds=options.rounds, placed="oversubscribed"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
