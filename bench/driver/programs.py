#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program of bench/programs as it is, with and without libcoll preloaded, in turns; compares what it prints bit
for bit and shows the times side by side. Exits with 1 when results differ or a run fails."""

import argparse
import dataclasses
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import checked
import record
from contestants import TITLES, available_mpis, launcher, mpirun, shim_path
import namespaces  # stands beside mpirun

BENCH = Path(__file__).resolve().parent.parent


@dataclasses.dataclass
class Program:
    """One of bench/programs and its cases: {name: command line}."""
    varies: str
    cases: dict


PROGRAMS = {
    "apsp": Program("closures of an airport that advance together, which is as many rows of 1.2 KB in a broadcast",
                    {str(batch): [str(BENCH / "data"), str(batch)] for batch in (1, 16, 64)}),
    "stencil": Program("cells of the plate; reductions are of one to four numbers",
                       {"96x64": ["96", "64", "1500"], "512x256": ["512", "256", "100"]}),
    "gradients": Program("numbers in a gradient, and in the bucket of one allreduce",
                         {"256K": ["262144", "40"], "256K/16K": ["262144", "40", "16384"], "2M": ["2097152", "6"]}),
}


def build(directory, name, mpi):
    """Compiles the program with the compiler wrapper of the distribution, without libcoll."""
    program = directory / f"{name}.{mpi}"
    source = BENCH / "programs" / f"{name}.c"
    newest = max(p.stat().st_mtime for p in [source, *source.parent.glob("*.h")])
    if not program.exists() or program.stat().st_mtime < newest:
        command = [f"mpicc.{mpi}", "-O3", "-march=native", "-o", str(program), str(source), "-lm"]
        print("  $ " + " ".join(os.path.relpath(c) if c.startswith("/") else c for c in command))
        subprocess.run(command, check=True)
    return program


def run(mpi, program, options, words, preload):
    """Runs the program once. Returns (result lines, times, log lines of libcoll); raises RuntimeError when it failed."""
    fits = options.ranks <= len(os.sched_getaffinity(0)) and not options.nodes
    env = {"COLL_LOG": "info", **({"COLL_NODE_SIZE": str(options.node_size)} if options.node_size else {})}
    command = launcher(mpi, options.ranks, preload=preload, bind="core" if fits else "none",
                       env=env if preload else {}, urgent=options.urgent, start=options.start)
    status, out, err = mpirun.run(command + [str(program), *words], options.timeout)
    results = [line for line in out.splitlines() if not line.startswith("time")]
    times = [json.loads(line.split(None, 1)[1]) for line in out.splitlines() if line.startswith("time")]
    if status != 0 or not times:
        why = f"was stopped after {options.timeout:g} s" if status is None else f"ended with status {status}"
        raise RuntimeError(f"{' '.join(command)} ... {why}\n{out[-500:]}{err[-1500:]}")
    return results, times[0], [line for line in err.splitlines() if "coll" in line]


def compare(programs, options, case, words, seen):
    """Runs all MPI libraries with and without libcoll, `rounds` times in turn. Returns {(mpi, with libcoll): times}."""
    times = {}
    for number in range(options.rounds):
        for mpi, program in programs.items():
            for preload in (None, shim_path(options.build, mpi)):
                if preload is None and (mpi, False) in times and len(times[mpi, False]) > number:
                    continue  # no shim for this MPI: run it once per round
                results, took, log = run(mpi, program, options, words, preload)
                times.setdefault((mpi, preload is not None), []).append(took)
                expected = seen.setdefault("results", {}).setdefault(case, results)
                if expected != results:
                    seen["differ"] = (mpi, preload is not None, case, results)
                if preload and mpi not in seen:
                    seen[mpi] = log[:1] or ["(libcoll logged nothing: it may not have been loaded)"]
    return times


def print_times(times, case):
    print(f"\n  {case}")
    print(f"    {'':<10}{'as it is':>32}{'with libcoll':>32}{'gain':>18}")
    print(f"    {'':<10}" + f"{'total':>12}{'compute':>10}{'collect.':>10}" * 2 + f"{'total':>9}{'collect.':>9}")
    for mpi in dict.fromkeys(m for m, _ in times):
        line, medians = f"    {TITLES[mpi]:<10}", {}
        for ours in (False, True):
            for key, width in (("total_s", 12), ("compute_s", 10), ("collectives_s", 10)):
                values = [t[key] for t in times.get((mpi, ours), [])]
                medians[ours, key] = statistics.median(values) if values else None
                line += (f"{medians[ours, key]:.3f} s" if values else "-").rjust(width)
        for key in ("total_s", "collectives_s"):
            line += (f"{medians[False, key] / medians[True, key]:.2f}x" if medians[True, key] else "-").rjust(9)
        print(line)


def new_record(tables, options, circumstances):
    """Prints a row for each case and MPI; compares the medians of the rounds."""
    rows = {}
    for case, times in tables.items():
        for mpi in dict.fromkeys(m for m, ours in times if ours):
            medians = {(ours, key): statistics.median(t[key] for t in times[mpi, ours])
                       for ours in (False, True) for key in ("total_s", "collectives_s")}
            rows[f"{options.program} {case}, {TITLES[mpi]}"] = [
                *(medians[False, key] / medians[True, key] for key in ("total_s", "collectives_s"))]
    return record.new(circumstances, "programs", f"{circumstances['machine']['name']}, {options.program}",
                      "Time of the program without libcoll, divided by its time with libcoll", "median of the rounds",
                      "ratio", ["whole program", "in collectives"], rows, ranks=options.ranks, rounds=options.rounds,
                      placed="unknown")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(";")[0])
    parser.add_argument("build", type=checked.build_directory)
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--ranks", type=checked.positive, default=2)
    parser.add_argument("--rounds", type=checked.positive, default=3)
    parser.add_argument("--cases", help="some of the program's, separated by commas: " +
                        "; ".join(f"{name} has {', '.join(program.cases)}" for name, program in PROGRAMS.items()))
    parser.add_argument("--node-size", type=int, help="as COLL_NODE_SIZE: nodes of so many ranks")
    parser.add_argument("--nodes", help="ranks of each node, as in 2,2: Open MPI over TCP between namespaces, as root")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--urgent", action="store_true", help="as root: run at the highest priority")
    record.add_arguments(parser)
    options = parser.parse_args()
    program = PROGRAMS[options.program]
    cases = options.cases.split(",") if options.cases else list(program.cases)
    if unknown := set(cases) - set(program.cases):
        parser.error(f"{options.program} has the cases {', '.join(program.cases)}, not {', '.join(unknown)}")

    if options.nodes:
        options.ranks = sum(map(int, options.nodes.split(",")))
        try:
            with namespaces.open_mpi(options.nodes.split(",")) as options.start:
                return compare_all(options, program, cases, ["openmpi"])
        except namespaces.Unavailable as reason:
            print(f"Virtual nodes are not possible here: {reason}", file=sys.stderr)
            return 1
    options.start = list
    return compare_all(options, program, cases, available_mpis())


def compare_all(options, program, cases, mpis):
    if not mpis:
        print("No MPI here. Install openmpi-bin and libopenmpi-dev, or mpich and libmpich-dev.", file=sys.stderr)
        return 1
    for mpi in set(TITLES) - set(available_mpis()):
        print(f"  {TITLES[mpi]} is not installed: left out.")
    shims = [mpi for mpi in mpis if shim_path(options.build, mpi)]
    for mpi in set(mpis) - set(shims):
        print(f"  The build has no shim for {TITLES[mpi]}: it runs without libcoll only.")
    directory = Path(options.build) / "bench"
    directory.mkdir(parents=True, exist_ok=True)
    programs = {mpi: build(directory, options.program, mpi) for mpi in mpis}

    seen, tables = {}, {}
    circumstances = record.circumstances(options.machine)
    try:
        for case in cases:
            tables[case] = compare(programs, options, case, program.cases[case], seen)
    except RuntimeError as failure:
        print(f"FAILED: {failure}")
        return 1
    print("  it prints, in every run:")
    for results in dict.fromkeys(map(tuple, seen["results"].values())):  # once if all cases agree
        print("\n".join("    | " + line for line in results))
    for mpi in shims:
        print(f"  {TITLES[mpi]}: {seen[mpi][0]}")
    print(f"\n  by {program.varies}:")
    for case, times in tables.items():
        print_times(times, case)
    if "differ" in seen:
        mpi, ours, case, results = seen["differ"]
        print(f"\n  RESULTS DIFFER: {TITLES[mpi]} {'with' if ours else 'without'} libcoll, case {case}, printed")
        print("\n".join("    | " + line for line in results))
        return 1
    print(f"\n  all {sum(len(t) for times in tables.values() for t in times.values())} runs gave the same results, bit for bit")
    if options.record and shims:
        record.write(options.record, new_record(tables, options, circumstances))
    return 0 if shims else 1


if __name__ == "__main__":
    sys.exit(main())
