#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs packaged MPI programs as they are, without the shim and with it, and compares their results. Exits with 1 if a
program that runs without the shim fails with it or computes something else; with 77 if none is installed."""
import argparse
import dataclasses
import glob
import json
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "mpi"))
import mpirun  # noqa: E402

from programs import installed, programs, same  # noqa: E402

SAME, OTHER, FAILS, WITHOUT, ABSENT = "same", "other results", "fails", "fails without the shim, too", "not installed"
BAD = (OTHER, FAILS)


@dataclasses.dataclass
class Run:
    status: int | None   # None: it exceeded the time limit
    results: list
    seconds: float
    text: str            # its output and its standard error
    served: int = 0      # calls of rank 0 that libcoll served; forwarded to MPI; on communicators of one rank
    forwarded: int = 0
    one_rank: int = 0
    reasons: dict = dataclasses.field(default_factory=dict)

    @property
    def good(self):
        return self.status == 0 and bool(self.results)


def run(program, shim, ranks, timeout_s):
    """Runs a program once in a new directory; with that shim, or without if it is None."""
    with tempfile.TemporaryDirectory() as directory:
        for name in program.inputs:
            shutil.copy(HERE / "inputs" / name, directory)
        for path in glob.glob(program.data):
            os.symlink(path, Path(directory, os.path.basename(path)))
        variables = {"OMP_NUM_THREADS": "1", **dict(program.variables)}
        variables |= {name: value for name, value in os.environ.items() if name.startswith("COLL_")}
        stats = Path(directory, "libcoll.json")
        if shim:
            variables |= {"LD_PRELOAD": str(shim), "COLL_STATS": str(stats)}
        command = mpirun.command(program.mpi, mpirun.group(program.mpi, ranks, variables, program.words),
                                 options=mpirun.binding(program.mpi, "none"))
        started = time.monotonic()
        status, out, err = mpirun.run(["env", "-C", directory, *command], timeout_s)
        made = Run(status, program.results_of(out + err), time.monotonic() - started, out + err)
        if stats.exists():
            report = json.loads(stats.read_text(encoding="utf-8"))
            total = report["total"]
            made.served, made.forwarded, made.one_rank = total["served"], total["forwarded"], total["one_rank"]
            for one in report["forwarded"]:
                made.reasons[one["why"]] = made.reasons.get(one["why"], 0) + one["calls"]
    return made


def verdict(program, without, ours):
    """Returns the verdict, and lines that say why it is bad."""
    if not without.good:
        return WITHOUT, []
    if not ours.good:
        ended = "exceeds the time limit" if ours.status is None else f"ends with {ours.status}"
        return FAILS, [f"{ended}, {len(ours.results)} results", *ours.text.splitlines()[-12:]]
    if not ours.served + ours.forwarded + ours.one_rank:
        return FAILS, ["the shim intercepted nothing: is it the one of this MPI?"]
    if len(without.results) != len(ours.results):
        return OTHER, [f"{len(without.results)} results without, {len(ours.results)} with the shim"]
    unlike = [(one, other) for one, other in zip(without.results, ours.results) if not same(program, one, other)]
    return (OTHER, [line for one, other in unlike[:5] for line in (f"without: {one}", f"with:    {other}")]) \
        if unlike else (SAME, [])


def check(program, shims, options):
    """Runs a program without the shim and with it. Returns what is reported, for --json too."""
    report = {"program": program.name, "package": program.package, "mpi": program.mpi}
    shim = shims / f"libcoll_mpi_{program.mpi}.so"
    if not installed(program) or not shutil.which(mpirun.LAUNCHERS[program.mpi]):
        return {**report, "verdict": ABSENT, "why": [f"package {program.package}"]}
    if not shim.exists():
        return {**report, "verdict": ABSENT, "why": [f"there is no {shim}"]}
    ranks = program.ranks or options.ranks
    without = run(program, None, ranks, options.timeout)
    ours = run(program, shim, ranks, options.timeout) if without.good else without
    found, why = verdict(program, without, ours)
    if found == WITHOUT and options.verbose:
        why = without.text.splitlines()[-12:]
    return {**report, "ranks": ranks, "verdict": found, "why": why, "results": len(without.results),
            "seconds": [round(without.seconds, 2), round(ours.seconds, 2)], "served": ours.served,
            "forwarded": ours.forwarded, "one_rank": ours.one_rank, "reasons": ours.reasons}


def line(report):
    """One line for a program."""
    text = f"{report['program']:<28} {report['mpi']:<8} {report['verdict']}"
    if report["verdict"] == ABSENT:
        return f"{text} ({report['why'][0]})"
    without_s, ours_s = report["seconds"]
    text = f"{report['program']:<28} {report['mpi']:<8} {report['ranks']} ranks  {report['verdict']:<14} " \
           f"{report['results']:>4} results  {without_s:6.1f} s, {ours_s:6.1f} s"
    calls = report["served"] + report["forwarded"]
    return text + (f"  {report['served']} of {calls} calls served" if calls else "")


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__.split(".", maxsplit=1)[0])
    parser.add_argument("--shims", type=Path, required=True, metavar="DIR", help="where libcoll_mpi_*.so are")
    parser.add_argument("--only", metavar="REGEX", default="", help="only where name and MPI contain this: 'xd.* mpich'")
    parser.add_argument("--ranks", type=int, default=2, help="of programs that need no other number; default: 2")
    parser.add_argument("--timeout", type=float, default=300, metavar="S", help="for one run; default: 300")
    parser.add_argument("--mpi4py", type=Path, metavar="DIR", help="sources of mpi4py: run its tests")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument("--verbose", action="store_true", help="say why programs fail without the shim, too")
    parser.add_argument("--list", action="store_true", help="print the programs and their packages")
    return parser.parse_args(words)


def main():
    options = options_of(sys.argv[1:])
    chosen = [one for one in programs(options.mpi4py) if re.search(options.only, f"{one.name} {one.mpi}")]
    if options.list:
        print("\n".join(f"{one.name:<28} {one.mpi:<8} {one.package}" for one in chosen))
        return 0
    reports = []
    for program in chosen:
        reports.append(check(program, options.shims.resolve(), options))
        print(line(reports[-1]), flush=True)
        if reports[-1]["verdict"] in (*BAD, WITHOUT):
            print("".join(f"    {text}\n" for text in reports[-1]["why"]), end="", flush=True)
    counts = {found: sum(report["verdict"] == found for report in reports)
              for found in (SAME, OTHER, FAILS, WITHOUT, ABSENT)}
    print(", ".join(f"{number} {found}" for found, number in counts.items()))
    if options.json:
        options.json.write_text(json.dumps(reports, indent=1) + "\n", encoding="utf-8")
    if any(counts[found] for found in BAD):
        return 1
    return 0 if counts[SAME] else 77


if __name__ == "__main__":
    sys.exit(main())
