#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares libcoll with the MPI libraries of the distribution, side by side in one run.

Each round launches every contestant once, and each launch measures all collectives and sizes; the order rotates from
round to round, so a disturbance of the machine affects all contestants. Prints the median over the rounds, and the
speedup of libcoll over the fastest of the others."""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import checked
import plot
import record
import report
import statistics_of_rounds as stats
from contestants import available_mpis, contestants, json_lines, mpirun

BENCH = Path(__file__).resolve().parent.parent


def build_programs(build):
    """Builds coll_bench with the compiler wrapper of each MPI, as a user would. Returns the directory."""
    where = Path(build) / "bench"
    where.mkdir(parents=True, exist_ok=True)
    sources = [*sorted((BENCH / "mpi").glob("*.c")), BENCH / "lockstep" / "lockstep.c"]
    headers = [*(BENCH / "mpi").glob("*.h"), BENCH / "lockstep" / "lockstep.h"]
    newest = max(p.stat().st_mtime for p in [*sources, *headers])
    for mpi in available_mpis():
        program = where / f"coll_bench.{mpi}"
        if not program.exists() or program.stat().st_mtime < newest:
            subprocess.run([f"mpicc.{mpi}", "-O3", "-march=native", "-I", BENCH / "lockstep", "-o", program, *sources],
                           check=True)
    return where


def add_sample_arguments(parser):
    parser.add_argument("--cores", choices=("near", "far"),
                        help="two ranks: use the samples taken at this distance of the cores, not at the most frequent one")
    parser.add_argument("--read", metavar="FILE", help="do not measure; read the samples that --json wrote")


def samples(field, options, report_error, notes=None):
    """Measures, or reads a file of results. Sets options.circumstances: when and where."""
    if options.read is None:
        options.circumstances = record.circumstances(options.machine,
                                                     "4 KiB" if options.pages == "4k" else "2 MiB")
        return measure(field, options, report_error, notes)
    with open(options.read, encoding="utf-8") as file:
        document = json.load(file)
    rows, options.circumstances = document["samples"], document.get("circumstances")
    if options.record and options.circumstances is None:
        raise SystemExit(f"{options.read} does not say when and where it was measured; measure again to get a record")
    options.rounds = len({r["round"] for r in rows})
    options.ranks = rows[0]["ranks"] if rows else options.ranks
    return rows


RIVALS = {"openmpi": "Open MPI", "openmpi-nocma": "Open MPI without CMA", "openmpi-acoll": "Open MPI's acoll",
          "openmpi-xhc": "Open MPI's xhc", "openmpi-ucc": "Open MPI's ucc", "mpich": "MPICH"}
COLUMNS = {"coll+openmpi": "under Open MPI", "coll+mpich": "under MPICH", "coll": "without MPI"}


def new_record(table, rivals, options, flag):
    """Prints the geometric means that the verdicts use."""
    found = {name: {v[0]: v[1] for v in stats.verdicts(table, name, rivals[name])} for name in rivals}
    collectives = [c for c in stats.COLLECTIVES if any(c in means for means in found.values())]
    placed = record.placement(options.ranks, flag, stats.NEAR_NS)
    compared = sorted({RIVALS.get(name, name) for names in rivals.values() for name in names})
    name = options.circumstances["machine"]["name"]
    return record.new(
        options.circumstances,
        "oversubscribed" if placed == "oversubscribed" else "two-ranks" if options.ranks == 2 else "many-ranks",
        f"{name}, {options.ranks} ranks, {placed}",
        ("Time of the MPI library without libcoll, divided by its time with libcoll" if options.versus == "own" else
         f"Time of the fastest of {', '.join(compared)}, divided by the time of libcoll"),
        report.mean_over(table), "ratio", [COLUMNS.get(name, name) for name in rivals],
        {c: [found[name].get(c, "-") for name in rivals] for c in collectives},
        ranks=options.ranks, rounds=options.rounds, placed=placed, flag_ns=flag)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=checked.build_directory, help="build directory (where lib/mpi/libcoll_mpi_*.so are)")
    parser.add_argument("--ranks", type=checked.positive, default=2)
    parser.add_argument("--rounds", type=checked.positive, default=8)
    parser.add_argument("--quick", action="store_true", help="two short rounds: a smoke test, not a measurement")
    parser.add_argument("--sizes", type=checked.sizes, default="4-16M")
    parser.add_argument("--collectives", default=",".join(stats.COLLECTIVES))
    parser.add_argument("--cell-ms", type=float, default=40, help="time for one collective and size in one launch")
    parser.add_argument("--pages", choices=("4k", "2m"), default="4k")
    parser.add_argument("--only", help="comma-separated contestants (see the headings)")
    parser.add_argument("--timeout", type=float, default=60, help="seconds after which a launch is stopped")
    parser.add_argument("--versus", choices=("fastest", "own"), default="fastest",
                        help="speedup over the fastest baseline, with a verdict, or over the MPI that libcoll is preloaded into")
    parser.add_argument("--urgent", action="store_true", help="as root: run all contestants at the highest priority")
    add_sample_arguments(parser)
    record.add_arguments(parser)
    parser.add_argument("--json", metavar="FILE", help="write every sample; collctl report --bench draws them")
    parser.add_argument("--svg", metavar="FILE", help="write a picture, with matplotlib")
    parser.add_argument("--check", action="store_true", help="exit with 3 when a target is missed")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.cell_ms = 2, 10
    return options


def commands(who, options):
    """Returns the launches of one round of a contestant."""
    if who.native:
        return [who.command + [collective, "-n", str(options.ranks), "--sizes", options.sizes, "--json"]
                for collective in options.collectives.split(",")]
    own = ["--sizes", options.sizes, "--collectives", options.collectives, "--cell-ms", str(options.cell_ms),
           "--pages", options.pages]
    if options.ranks > len(os.sched_getaffinity(0)):
        own += ["--min-iterations", "3", "--max-seconds", str(options.timeout / 2)]
    return [who.command + own + list(who.arguments)]


def measure(field, options, report_error, notes=None):
    """Launches every contestant once per round. Returns rows with "contestant" and "round"; `notes` gets the other rows."""
    rows = []
    for number in range(options.rounds):
        shift = number % len(field)
        for who in field[shift:] + field[:shift]:
            if sys.stderr.isatty():
                print(f"\rround {number + 1} of {options.rounds}: {who.name:<16}", end="", file=sys.stderr)
            for command in commands(who, options):
                status, out, err = mpirun.run(command, options.timeout)
                found = json_lines(out)
                cells = stats.number_variants([r for r in found if {"collective", "bytes", "median_us"} <= r.keys()])
                if notes is not None:
                    notes += [r for r in found if "median_us" not in r]
                rows += [dict(r, contestant=who.name, round=number) for r in cells]
                if status == 0 and not cells:
                    report_error(f"{who.name}: no rows with collective, bytes and median_us in its output")
                if status is None:
                    report_error(f"{who.name}: stopped after {options.timeout:g} s; the points measured until then count")
                elif status != 0:
                    report_error(f"{who.name}: exit status {status}: {err.strip()[-400:]}")
                for stop in (r for r in found if "stopped" in r):
                    report_error(f"{who.name}: ended at {stop['stopped']} because of {stop['because']}")
    if sys.stderr.isatty():
        print("\r" + " " * 50 + "\r", end="", file=sys.stderr)
    return rows


def main():
    options = arguments()
    where = build_programs(options.build)
    field = contestants(options.build, options.ranks, lambda mpi: where / f"coll_bench.{mpi}",
                        options.urgent)
    if options.only:
        field = [c for c in field if c.name in options.only.split(",")]
    if not field:
        print("No contestant: neither mpirun.openmpi nor mpirun.mpich is installed with its mpicc. Install openmpi-bin and "
              "libopenmpi-dev, or mpich and libmpich-dev.", file=sys.stderr)
        return 1
    ours, peers = [c.name for c in field if c.ours], [c.name for c in field if not c.ours]
    if not ours:
        print("No shim in the build directory: only the MPI libraries are measured.", file=sys.stderr)

    complaints = []
    begin = time.monotonic()
    rows = samples(field, options, lambda text: text in complaints or complaints.append(text))
    kept, dropped = stats.drop_moved(rows, options.cores)
    table = stats.medians(kept)
    wrong = sorted({r["contestant"] for r in rows if r.get("wrong")})

    flag = stats.flag_ns(kept)
    headline = (f"{options.ranks} ranks, {record.processor_name()}, flag {report.distance_name(flag)}, "
                f"{options.rounds} rounds" +
                (f", {time.monotonic() - begin:.0f} s" if options.read is None else ""))
    print(headline)
    for who in field:
        print(f"  {who.name:<14} {who.title}")
    if options.versus == "own":
        rivals = {name: [name.removeprefix("coll+")] for name in ours if name != "coll"}
        print("Medians in microseconds; gain: time without libcoll divided by time with it.")
    else:
        rivals = {name: peers for name in ours}
        print("Medians in microseconds; gain: time of the fastest baseline divided by the time of libcoll.")
    report.print_table(table, [c.name for c in field], rivals)
    print()
    if dropped:
        print(f"{len(dropped)} of {len(rows)} samples dropped: the cores were at another distance.")
    for text in complaints:
        print("note: " + text)
    good = options.versus == "own" or report.print_verdicts(table, rivals)
    if wrong:
        print("WRONG RESULTS from " + ", ".join(wrong))

    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"headline": headline, "flag_ns": flag, "contestants": {c.name: c.title for c in field},
                       "medians_us": [{"collective": c, "bytes": b, **times} for (c, b), times in table.items()],
                       "circumstances": options.circumstances, "samples": rows, "dropped": len(dropped), "notes": complaints}, file, indent=1)
    if options.svg:
        plot.write_svg(options.svg, table, [(c.name, c.title) for c in field], headline)
    if wrong or not rows:
        return 1
    if options.record:
        record.write(options.record, new_record(table, rivals, options, flag))
    return 3 if options.check and not good else 0


if __name__ == "__main__":
    sys.exit(main())
