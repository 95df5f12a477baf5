#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the speed of two builds of libcoll: is any collective slower now than before?

One benchmark program (bench/before) is compiled against each build. Its launches alternate, and the ratio of the times
is reported for every collective and size with its 95 % confidence interval. "slower": the interval lies above 1.03 in
every run. Exit status: 0 if no cell is slower, 1 if one is, 2 for wrong usage, 3 if a launch failed."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import paired
import report
from contestants import json_lines, mpirun
from record import processor_name
from statistics_of_rounds import COLLECTIVES, geomean

BENCH = Path(__file__).resolve().parent.parent
BLOCKING = (*COLLECTIVES, "scatterv", "gatherv", "allgatherv", "alltoallv", "reduce_scatterv")
GROUPS = {"blocking": BLOCKING, "nonblocking": tuple("i" + name for name in BLOCKING)}
GROUPS["all"] = GROUPS["blocking"] + GROUPS["nonblocking"]
MOST_RANKS = 64  # LOCKSTEP_MAX_RANKS
REPORT_EVERY_S = 20
LONGEST_RUN = 4  # times --pairs, while the distance of the cores changes


class Usage(Exception):
    """The command line is wrong."""


class Failed(Exception):
    """A benchmark did not compile, did not run, or computed a wrong result."""


# ---- the two builds ---------------------------------------------------------------------------------------------


@dataclass
class Build:
    directory: Path  # the build directory
    source: Path     # its sources, for coll.h
    commit: str

    @property
    def libraries(self):
        return self.directory / "lib" / "api"


def find_build(path):
    """`path` is a build directory, or a checkout with one below it, named build."""
    for directory in (Path(path), Path(path) / "build"):
        cache = directory / "CMakeCache.txt"
        if cache.exists() and (directory / "lib" / "api" / "libcoll.so").exists():
            source = Path(re.search(r"^CMAKE_HOME_DIRECTORY:\w+=(.*)$", cache.read_text(), re.MULTILINE).group(1))
            if not (source / "include" / "coll" / "coll.h").exists():
                raise Usage(f"{directory} was built from {source}, which has no include/coll/coll.h any more")
            return Build(directory.resolve(), source, commit_of(source))
    raise Usage(f"{path}: neither this directory nor {Path(path) / 'build'} holds a build of libcoll "
                "(CMakeCache.txt and lib/api/libcoll.so); build it with `make build`")


def commit_of(source):
    found = subprocess.run(["git", "-C", str(source), "describe", "--always", "--dirty", "--abbrev=12"],
                           capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else "unknown commit"


def compile_for(build, program):
    """Builds the benchmark, which loads the library of this build whatever LD_LIBRARY_PATH is."""
    lockstep = BENCH / "lockstep"
    compiler = os.environ.get("CC") or shutil.which("cc") or "gcc"
    result = subprocess.run(
        [compiler, "-O2", "-std=gnu11", "-I", lockstep, "-I", build.source / "include", "-o", program,
         BENCH / "before" / "calls.c", lockstep / "lockstep.c", "-L", build.libraries, "-lcoll",
         f"-Wl,--disable-new-dtags,-rpath,{build.libraries}"], capture_output=True, text=True)
    if result.returncode != 0:
        raise Failed(f"the benchmark does not compile against {build.directory}:\n{result.stderr}")
    return program


# ---- the command line -------------------------------------------------------------------------------------------


def parse_collectives(text):
    names = [name for part in text.split(",") for name in GROUPS.get(part, (part,))]
    for name in names:
        if name not in GROUPS["all"]:
            raise Usage(f"--collectives: '{name}' is unknown; use blocking, nonblocking, all, or names of "
                        f"{', '.join(BLOCKING)}, with an i in front for the non-blocking form")
    return list(dict.fromkeys(names))


def parse_sizes(text):
    """"4-16M" is every power of four times 4 B up to 16 MiB; or a list. Sizes are rounded to whole floats."""
    units = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    sizes = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)([KMG]?)(?:-(\d+)([KMG]?))?", part.upper())
        if not match:
            raise Usage(f"--sizes: '{part}' is not a size; use a range such as 4-16M or a list such as 4,64K,1M")
        first = int(match[1]) * units[match[2]]
        last = int(match[3]) * units[match[4]] if match[3] else first
        if first < 4 or last < first:
            raise Usage(f"--sizes: '{part}': sizes start at 4 bytes and ranges ascend")
        while first <= last:
            sizes.append(first // 4 * 4)
            first *= 4
    return sorted(set(sizes))


def arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0],
                                     epilog=" ".join(__doc__.split("\n\n")[1].split()))
    parser.add_argument("before", help="the build to compare with: a build directory, or a checkout with build/")
    parser.add_argument("now", nargs="?", default="build", help="the build under test; default: build")
    parser.add_argument("--ranks", type=int, default=2, help="default: 2")
    parser.add_argument("--sizes", default="4-16M", help="of the vector or of one rank's block; default: 4-16M")
    parser.add_argument("--collectives", default="blocking",
                        help="blocking (default), nonblocking, all, or a list of names such as bcast,ibcast")
    parser.add_argument("--memory", choices=("ordinary", "mapped"), default="ordinary",
                        help="buffers of malloc (default) or of coll_mem_alloc")
    parser.add_argument("--runs", type=int, default=3, help="a cell is slower if it is in each of these runs; default: 3")
    parser.add_argument("--pairs", type=int, default=10,
                        help="launches of each build per run, more while the cores' distance changes; default: 10")
    parser.add_argument("--cell-ms", type=float, default=20, help="timed calls of one size in one launch; default: 20")
    parser.add_argument("--timeout", type=float, default=120, help="seconds after which a launch counts as failed")
    parser.add_argument("--json", metavar="FILE", help="write every sample and every cell")
    options = parser.parse_args(words)
    options.collectives = parse_collectives(options.collectives)
    options.sizes = parse_sizes(options.sizes)
    if not 1 <= options.ranks <= MOST_RANKS:
        raise Usage(f"--ranks {options.ranks}: use 1 to {MOST_RANKS}")
    if options.pairs < paired.LEAST_PAIRS:
        raise Usage(f"--pairs {options.pairs}: a 95 % interval needs at least {paired.LEAST_PAIRS} pairs")
    if options.runs < 1 or options.cell_ms <= 0:
        raise Usage("--runs and --cell-ms must be positive")
    return options


# ---- measuring --------------------------------------------------------------------------------------------------


class Progress:
    """Where the comparison is and when it will end: one line that is rewritten on a terminal, else a new one periodically."""

    def __init__(self, launches_of, output=sys.stderr, clock=time.monotonic):
        self.left = dict(launches_of)  # {collective: launches that remain}
        self.took = {name: [] for name in self.left}
        self.total = sum(self.left.values())
        self.output, self.clock = output, clock
        self.begin = self.reported = clock()

    def remaining_s(self):
        """Estimates the remaining time: each remaining launch takes as long as the previous ones of its collective."""
        every = [s for took in self.took.values() for s in took]
        if not every:
            return None
        return sum(left * (sum(took) / len(took) if (took := self.took[name]) else sum(every) / len(every))
                   for name, left in self.left.items())

    def add(self, collective, launches):
        self.left[collective] += launches
        self.total += launches

    def done(self, collective, seconds, run):
        self.left[collective] -= 1
        self.took[collective].append(seconds)
        left = sum(self.left.values())
        text = (f"run {run + 1}, {collective}: {self.total - left} of {self.total} launches, "
                f"about {self.remaining_s() / 60:.1f} min remain")
        if self.output.isatty():
            print("\r" + (f"{text:<78}" if left else " " * 78 + "\r"), end="", file=self.output, flush=True)
        elif self.clock() - self.reported >= REPORT_EVERY_S:
            self.reported = self.clock()
            print(text, file=self.output, flush=True)


def launch_once(program, collective, options):
    """Runs one launch, which measures all sizes of a collective, and returns its rows."""
    sizes = [0] if collective in ("barrier", "ibarrier") else options.sizes
    status, out, err = mpirun.run([str(program), collective, str(options.ranks), str(options.cell_ms / 1000),
                                   options.memory, *map(str, sizes)], options.timeout)
    rows = json_lines(out)
    if status is None:
        raise Failed(f"{collective}: stopped after {options.timeout:g} s; use smaller --sizes, or --timeout")
    if status != 0 or len(rows) != len(sizes):
        raise Failed(f"{collective}: exit status {status}: {err.strip()[-1000:]}")
    if any(row["wrong"] for row in rows):
        raise Failed(f"{collective}: wrong result")
    return rows


def measure(programs, options, launch_one=launch_once, progress=None):
    """Runs all launches. Returns samples: rows of the benchmark with "run", "pair" and "side". A run gets more
    pairs while the distance of the cores changed too often for a verdict."""
    progress = progress or Progress({name: 2 * options.pairs * options.runs for name in options.collectives})
    samples = []
    for run in range(options.runs):
        for collective in options.collectives:
            for pair in range(LONGEST_RUN * options.pairs):
                if pair >= options.pairs:
                    if paired.distances_with_enough_pairs(samples, run, collective):
                        break
                    progress.add(collective, 2)
                for side in paired.order(pair):
                    begin = time.monotonic()
                    try:
                        rows = launch_one(programs[side], collective, options)
                    except Failed as error:
                        raise Failed(f"{side}: {error}") from None
                    samples += [dict(row, run=run, pair=pair, side=side) for row in rows]
                    progress.done(collective, time.monotonic() - begin, run)
    return samples


# ---- reporting --------------------------------------------------------------------------------------------------


def interval_name(found):
    return f"{found.ratio:.3f} [{found.low:.3f}, {found.high:.3f}]" if found else "too few pairs"


def cell_name(cell):
    size = "" if cell["bytes"] == 0 else " " + report.size_name(cell["bytes"])
    return cell["collective"] + size + (f" ({cell['cores']} cores)" if cell["cores"] else "")


def print_report(cells, moved, runs):
    """Prints the table and a summary. Returns the exit status."""
    heading = [f"{'cores':<6}{'collective':<17}{'size':>8}{'before us':>11}{'now us':>9}"]
    print("".join(heading + [f"  {f'run {run + 1}':<22}" for run in range(runs)]).rstrip())
    for cell in cells:
        size = report.size_name(cell["bytes"]) if cell["bytes"] else "-"
        line = (f"{cell['cores'] or '-':<6}{cell['collective']:<17}{size:>8}{report.time_name(cell['before_us']):>11}"
                f"{report.time_name(cell['now_us']):>9}")
        line += "".join(f"  {interval_name(found):<22}" for found in cell["runs"])
        print((line + ("  " + cell["verdict"] if cell["verdict"] else "")).rstrip())
    print()
    decided = [cell for cell in cells if cell["verdict"] is not None]
    for cores in dict.fromkeys(cell["cores"] for cell in decided):
        mean = geomean(geomean(found.ratio for found in cell["runs"]) for cell in decided if cell["cores"] == cores)
        print(f"Geometric mean of the ratios{f', {cores} cores' if cores else ''}: {mean:.3f}")
    if moved:
        print(f"{moved} pairs dropped: the distance between the cores changed during the pair.")
    if len(decided) < len(cells):
        print(f"Not judged, because a run has fewer than {paired.LEAST_PAIRS} pairs at this distance: "
              + ", ".join(cell_name(cell) for cell in cells if cell["verdict"] is None))
    if not decided:
        raise Failed("no cell could be judged; run again with more --pairs, while the machine's cores do not move")
    for kind in ("faster", "slower"):
        names = [cell_name(cell) for cell in decided if cell["verdict"] == kind]
        print(f"{kind.capitalize()} in all runs ({len(names)} of {len(decided)}): {', '.join(names) or 'none'}")
    return 1 if any(cell["verdict"] == "slower" for cell in decided) else 0


def write_json(path, builds, options, samples, cells, moved):
    document = {"machine": processor_name(), "ranks": options.ranks, "memory": options.memory, "runs": options.runs,
                "pairs": options.pairs, "slower_above": paired.SLOWER, "confidence": paired.CONFIDENCE,
                "builds": {side: {"directory": str(build.directory), "commit": build.commit}
                           for side, build in builds.items()},
                "cells": [dict(cell, runs=[found and found._asdict() for found in cell["runs"]]) for cell in cells],
                "pairs_dropped": moved, "samples": samples}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)


def compare(options):
    builds = {"before": find_build(options.before), "now": find_build(options.now)}
    where = builds["now"].directory / "bench"
    where.mkdir(parents=True, exist_ok=True)
    programs = {side: compile_for(build, where / f"calls.{side}") for side, build in builds.items()}
    os.environ.pop("LD_PRELOAD", None)
    samples = measure(programs, options)
    cells, moved = paired.cells(samples, options.runs)
    print(f"{options.ranks} ranks, {processor_name()}, {options.memory} memory, {options.runs} runs of {options.pairs} "
          "pairs of launches")
    for side, build in builds.items():
        print(f"  {side + ':':<8}{build.directory} (sources at {build.commit})")
    print("Times: median over launches. Ratio: time now / time before, median over pairs, with its 95 % confidence\n"
          f"interval. slower, faster: the interval lies above {paired.SLOWER}, below 1/{paired.SLOWER}, in all runs.\n")
    if options.json:
        write_json(options.json, builds, options, samples, cells, moved)
    return print_report(cells, moved, options.runs)


def main(words=None):
    try:
        return compare(arguments(words))
    except Usage as error:
        print(f"before.py: {error}", file=sys.stderr)
        return 2
    except Failed as error:
        print(f"before.py: {error}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
