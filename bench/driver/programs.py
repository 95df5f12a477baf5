#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the shortest-path program of bench/programs as it is, with and without libcoll preloaded, in turns; compares
what it prints bit for bit and shows the times side by side. Exits with 1 when results differ or a run fails."""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from contestants import available_mpis, launch, launcher, shim_path

BENCH = Path(__file__).resolve().parent.parent
TITLES = {"openmpi": "Open MPI", "mpich": "MPICH"}


def build(directory, mpi):
    """With the distribution's own compiler wrapper: the program knows nothing of libcoll."""
    program = directory / f"apsp.{mpi}"
    source = BENCH / "programs" / "apsp.c"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        command = [f"mpicc.{mpi}", "-O3", "-march=native", "-o", str(program), str(source), "-lm"]
        print("  $ " + " ".join(os.path.relpath(c) if c.startswith("/") else c for c in command))
        subprocess.run(command, check=True)
    return program


def run(mpi, program, options, batch, preload):
    """One run. Returns (result lines, times, log lines of libcoll); raises RuntimeError when it failed."""
    command = launcher(mpi, options.ranks, preload=preload, bind="core" if options.ranks <= len(os.sched_getaffinity(0)) else "none",
                       env={"COLL_LOG": "info"} if preload else {}, urgent=options.urgent)
    status, out, err = launch(command + [str(program), str(BENCH / "data"), str(batch)], options.timeout)
    results = [line for line in out.splitlines() if not line.startswith("time")]
    times = [json.loads(line.split(None, 1)[1]) for line in out.splitlines() if line.startswith("time")]
    if status != 0 or not times:
        why = f"was stopped after {options.timeout:g} s" if status is None else f"ended with status {status}"
        raise RuntimeError(f"{' '.join(command)} ... {why}\n{out[-500:]}{err[-1500:]}")
    return results, times[0], [line for line in err.splitlines() if "coll" in line]


def compare_batch(programs, options, batch, seen):
    """All MPI libraries with and without libcoll, `rounds` times in turn. Returns {(mpi, with libcoll): times}."""
    times = {}
    for number in range(options.rounds):
        for mpi, program in programs.items():
            for preload in (None, shim_path(options.build, mpi)):
                if preload is None and (mpi, False) in times and len(times[mpi, False]) > number:
                    continue  # no shim for this MPI: once a round is enough
                results, took, log = run(mpi, program, options, batch, preload)
                times.setdefault((mpi, preload is not None), []).append(took)
                seen.setdefault("results", results)
                if seen["results"] != results:
                    seen["differ"] = (mpi, preload is not None, batch, results)
                if preload and mpi not in seen:
                    seen[mpi] = log[:1] or ["(libcoll logged nothing: it may not have taken over)"]
    return times


def print_times(times, batch):
    bytes_a_row = batch * 300 * 4
    print(f"\n  rows of {bytes_a_row / 1000:g} KB ({batch} closure{'s' if batch > 1 else ''} at a time)")
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(";")[0])
    parser.add_argument("build")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", default="1,64", help="closures at a time; a row is 1.2 KB for each")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--urgent", action="store_true", help="as root: run at the highest priority")
    options = parser.parse_args()

    mpis = available_mpis()
    if not mpis:
        print("No MPI here. Install openmpi-bin and libopenmpi-dev, or mpich and libmpich-dev.", file=sys.stderr)
        return 1
    for mpi in set(TITLES) - set(mpis):
        print(f"  {TITLES[mpi]} is not installed: left out.")
    shims = [mpi for mpi in mpis if shim_path(options.build, mpi)]
    for mpi in set(mpis) - set(shims):
        print(f"  The build has no shim for {TITLES[mpi]}: it runs only as it is.")
    directory = Path(options.build) / "bench"
    directory.mkdir(parents=True, exist_ok=True)
    programs = {mpi: build(directory, mpi) for mpi in mpis}

    seen, tables = {}, {}
    try:
        for batch in map(int, options.batches.split(",")):
            tables[batch] = compare_batch(programs, options, batch, seen)
    except RuntimeError as failure:
        print(f"FAILED: {failure}")
        return 1
    print("  it prints, in every run:")
    for line in seen["results"]:
        print("    | " + line)
    for mpi in shims:
        print(f"  {TITLES[mpi]}: {seen[mpi][0]}")
    for batch, times in tables.items():
        print_times(times, batch)
    if "differ" in seen:
        mpi, ours, batch, results = seen["differ"]
        print(f"\n  RESULTS DIFFER: {TITLES[mpi]} {'with' if ours else 'without'} libcoll, batch {batch}, printed")
        print("\n".join("    | " + line for line in results))
        return 1
    print(f"\n  all {sum(len(t) for times in tables.values() for t in times.values())} runs gave the same results, bit for bit")
    return 0 if shims else 1


if __name__ == "__main__":
    sys.exit(main())
