#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the packaged HPCC as it is, with and without libcoll preloaded, in turns; checks what it verifies itself, that
its residuals do not change from run to run, and shows the time in collectives side by side. Exits with 1 when a result
is wrong, with 77 when there is no HPCC here."""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import checked
from contestants import TITLES, launcher, mpirun, shim_path
from programs import BENCH, print_times

LIBRARIES = {"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12"}
# One thread of each BLAS: several split products by what else runs on the machine, and so round differently.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
# Results that HPCC computes and checks; the rest of its summary is times and rates.
RESULTS = ("Success", "HPL_RnormI", "MPIRandomAccess_Errors", "MPIRandomAccess_LCG_Errors", "MPIFFT_maxErr")


def mpi_of(program):
    """Returns the MPI library that a program is linked with; None if it is neither."""
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return next((mpi for mpi, library in LIBRARIES.items() if library in linked), None)


def build_clock(directory, mpi):
    """Builds the tool that times collectives, for this MPI."""
    clock = directory / f"clock.{mpi}.so"
    subprocess.run([f"mpicc.{mpi}", "-O2", "-D_GNU_SOURCE", "-fPIC", "-shared", "-o", str(clock),
                    str(BENCH / "programs" / "clock.c"), "-ldl"], check=True)
    return clock


def run(program, mpi, preload, options):
    """Runs HPCC once in a directory of its own. Returns (results, times); raises RuntimeError if HPCC fails."""
    with tempfile.TemporaryDirectory() as directory:
        shutil.copy(BENCH / "programs" / "hpccinf.txt", directory)
        command = launcher(mpi, options.ranks, preload=preload, env=ONE_THREAD)
        status, out, err = mpirun.run([*command, program], options.timeout, directory)
        report = Path(directory, "hpccoutf.txt")
        text = report.read_text(encoding="ascii", errors="replace") if report.exists() else ""
    results = dict(line.split("=", 1) for line in text.splitlines() if line.split("=", 1)[0] in RESULTS)
    times = [json.loads(line.split(None, 1)[1]) for line in err.splitlines() if line.startswith("time {")]
    if status != 0 or not times or results.get("Success") != "1" or "FAILED" in text or "PASSED" not in text:
        raise RuntimeError(f"{' '.join(command)} ... ended with {status}, {results}\n{out[-500:]}{err[-1500:]}")
    return results, times[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(";")[0])
    parser.add_argument("build", type=checked.build_directory)
    parser.add_argument("--ranks", type=checked.positive, default=2)
    parser.add_argument("--rounds", type=checked.positive, default=3)
    parser.add_argument("--timeout", type=float, default=120)
    options = parser.parse_args()
    program = shutil.which("hpcc")
    if program is None:
        print("skipped: HPCC is not installed (package hpcc)")
        return 77
    mpi = mpi_of(program)
    shim = mpi and shim_path(options.build, mpi)
    if not shim:
        print(f"skipped: {program} runs on {TITLES.get(mpi, 'another MPI')}, for which the build has no shim")
        return 77
    directory = Path(options.build).resolve() / "bench"
    directory.mkdir(parents=True, exist_ok=True)
    clock = build_clock(directory, mpi)

    results, times = {}, {}
    try:
        for _ in range(options.rounds):
            for ours in (False, True):
                got, took = run(program, mpi, f"{clock} {shim}" if ours else str(clock), options)
                results.setdefault(ours, []).append(got)
                times.setdefault((mpi, ours), []).append(took)
    except RuntimeError as failure:
        print(f"FAILED: {failure}")
        return 1
    print(f"  HPCC on {options.ranks} ranks, {TITLES[mpi]}; it computes and verifies")
    for name in RESULTS:
        print(f"    {name:<28}{results[False][0].get(name, '-'):>24}{results[True][0].get(name, '-'):>24} with libcoll")
    print_times(times, "all of HPCC")
    if any(got != results[True][0] for got in results[True]):
        print("\n  RESULTS DIFFER from run to run with libcoll: " + str(results[True]))
        return 1
    print(f"\n  all {2 * options.rounds} runs succeeded by HPCC's own checks; those with libcoll gave the same residuals")
    return 0


if __name__ == "__main__":
    sys.exit(main())
