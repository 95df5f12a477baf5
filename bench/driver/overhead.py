#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures what the shim itself adds to a call: the time of collectives that do nothing, with the shim minus without.
Prints the slowest rank of each collective; with --check exits with 3 when a limit is exceeded."""

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

import checked
import record
from contestants import TITLES, available_mpis, json_lines, launcher, mpirun, shim_path

SOURCES = Path(__file__).resolve().parent.parent / "overhead"
# The language bindings of an MPI library, with compiler options: a single one if Fortran calls the functions of C.
BINDINGS = {"openmpi": {"C": [], "Fortran": ["-DFORTRAN", "-lmpi_mpifh"]}, "mpich": {"C and Fortran": []}}
LIMITS_NS = {"taken": 30, "alone": 15, "empty": 15}  # the first: the shim intercepts the call; the others: it forwards it
SHORT_LIVED_LIMIT_US = 40
CASES = {"taken": "intercepted", "alone": "forwarded: one rank", "empty": "no data"}


def build(directory, mpi, binding):
    """Builds the program and the empty collectives. Returns their paths."""
    program, empty = directory / f"overhead.{mpi}.{binding.split()[-1].lower()}", directory / "overhead_empty.so"
    subprocess.run([f"mpicc.{mpi}", "-O2", "-o", str(program), str(SOURCES / "overhead.c"), *BINDINGS[mpi][binding]], check=True)
    subprocess.run(["cc", "-O2", "-fPIC", "-shared", "-o", str(empty), str(SOURCES / "empty.c")], check=True)
    return program, empty


def rows_of(mpi, program, preload, options):
    """Runs the program with these libraries preloaded and returns its output; raises RuntimeError."""
    command = launcher(mpi, options.ranks, preload=" ".join(map(str, preload)), urgent=options.urgent)
    status, out, err = mpirun.run([*command, str(program)], options.timeout)
    rows = json_lines(out)
    if status != 0 or not rows:
        raise RuntimeError(f"{' '.join(command)} ... ended with {status}\n{out[-500:]}{err[-1500:]}")
    return rows


def measure(mpi, program, preload, options):
    """{(collective, case): the slowest rank's ns}."""
    times = {}
    for row in rows_of(mpi, program, preload, options):
        for case in LIMITS_NS.keys() & row.keys():
            key = row["collective"], case
            times[key] = max(times.get(key, 0), row[case])
    return times


def compare(mpi, program, empty, options):
    """{(collective, case): ns that the shim adds}, the least of all rounds."""
    added = {}
    for _ in range(options.rounds):
        without = measure(mpi, program, [empty], options)
        for key, ns in measure(mpi, program, [shim_path(options.build, mpi), empty], options).items():
            added[key] = min(added.get(key, ns), ns - without[key])
    return added


def communicators_us(directory, mpi, options):
    """{"made" or "short_lived": (with the shim, without)}, medians of the rounds; see communicators.c."""
    program = directory / f"communicators.{mpi}"
    subprocess.run([f"mpicc.{mpi}", "-O2", "-o", str(program), str(SOURCES / "communicators.c")], check=True)
    times = {shim: [] for shim in (True, False)}
    for _ in range(options.rounds):
        for shim, of in times.items():
            preload = [shim_path(options.build, mpi)] if shim else []
            of.append(rows_of(mpi, program, preload, options)[0])
    return {case: tuple(statistics.median(row[case] for row in of) for of in times.values())
            for case in ("made", "short_lived")}


def show(title, added):
    """Prints a line per collective; returns the number of limits that are exceeded."""
    print(f"{title}: ns that the shim adds to a call")
    print(f"  {'':<22}{'intercepted':>13}{'forwarded: one rank':>22}{'no data':>10}")
    for collective in dict.fromkeys(name for name, _ in added):
        cells = [added.get((collective, case)) for case in LIMITS_NS]
        texts = ["-" if cell is None else f"{cell:.1f}" for cell in cells]
        print(f"  {collective:<22}{texts[0]:>13}{texts[1]:>22}{texts[2]:>10}")
    return sum(ns > LIMITS_NS[case] for (_, case), ns in added.items())


def new_record(found, options, circumstances):
    """`found`: {title: {(collective, case): ns}}; a row for each collective, a column for each title."""
    def cell(added, name):
        return " / ".join(f"{added[name, case]:.1f}" if (name, case) in added else "-" for case in ("taken", "alone"))

    collectives = dict.fromkeys(name for added in found.values() for name, _ in added)
    return record.new(circumstances, "shim-overhead", circumstances["machine"]["name"],
                      "Time of a collective that does nothing with the shim, minus its time without the shim: of an "
                      "intercepted call / of a call that is forwarded because the communicator has one rank",
                      "minimum over the rounds of the slowest rank", "ns", found,
                      {name: [cell(added, name) for added in found.values()] for name in collectives},
                      ranks=options.ranks, rounds=options.rounds, placed="unknown")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=checked.build_directory)
    parser.add_argument("--mpi", choices=TITLES)
    parser.add_argument("--ranks", type=checked.positive, default=2)
    parser.add_argument("--rounds", type=checked.positive, default=3)
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--urgent", action="store_true", help="as root: run at the highest priority")
    parser.add_argument("--check", action="store_true",
                        help=f"exit with 3 when an intercepted call costs more than {LIMITS_NS['taken']} ns, or a "
                             f"forwarded call more than {LIMITS_NS['alone']} ns, or a communicator that is freed after one "
                             f"collective more than {SHORT_LIVED_LIMIT_US} us")
    record.add_arguments(parser)
    options = parser.parse_args()
    directory = Path(options.build).resolve() / "bench"
    directory.mkdir(parents=True, exist_ok=True)
    exceeded, found = 0, {}
    circumstances = record.circumstances(options.machine)
    for mpi in [options.mpi] if options.mpi else available_mpis():
        if shim_path(options.build, mpi) is None:
            print(f"The build has no shim for {TITLES[mpi]}: left out.", file=sys.stderr)
            continue
        for binding in BINDINGS[mpi]:
            title = f"{TITLES[mpi]}, {binding}"
            found[title] = compare(mpi, *build(directory, mpi, binding), options)
            exceeded += show(title, found[title])
        communicators = communicators_us(directory, mpi, options)
        with_shim, without = communicators["short_lived"]
        print("{}: a communicator takes {:.0f} us until its first collective is over, {:.0f} us without the shim; with "
              "MPI_Comm_free, one after the other, {:.0f} and {:.0f} us".format(
                  TITLES[mpi], *communicators["made"], with_shim, without))
        exceeded += with_shim - without > SHORT_LIVED_LIMIT_US
    if options.record and found:
        record.write(options.record, new_record(found, options, circumstances))
    if exceeded:
        print(f"{exceeded} limits exceeded: {LIMITS_NS['taken']} ns intercepted, {LIMITS_NS['alone']} ns forwarded, "
              f"{SHORT_LIVED_LIMIT_US} us for a short-lived communicator")
    return 3 if exceeded and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
