#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs packaged MPI programs as they are, without the shim and with it, and compares their results. Exits with 1 if a
program that runs without the shim fails with it, computes something else or is not served, or if no results are found;
with 77 if no program is installed."""
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

from programs import programs, same  # noqa: E402

SAME, OTHER, FAILS, SILENT = "same", "other results", "fails", "prints no results"
WITHOUT, ABSENT = "fails without the shim", "not installed"
BAD = (OTHER, FAILS, SILENT)
AGAIN = 3  # runs without the shim of a program that exceeds the time limit with it


@dataclasses.dataclass
class Run:
    status: int | None   # None: it exceeded the time limit
    results: list
    seconds: float
    text: str            # its output and its standard error
    served: int = 0      # calls of rank 0 that libcoll served, and that it forwarded to MPI
    forwarded: int = 0
    reasons: dict = dataclasses.field(default_factory=dict)  # why, with the number of calls

    def failed(self, program):
        """How many results say that the program itself has failed: it may be a test."""
        return sum(bool(program.failures and re.search(program.failures, one)) for one in self.results)

    def last_lines(self):
        ended = "exceeds the time limit" if self.status is None else f"ends with {self.status}"
        return [f"{ended}, {len(self.results)} results", *self.text.splitlines()[-12:]]


def run(program, shim, ranks, timeout_s):
    """Runs a program once in a new directory; with that shim, or without if it is None."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        for name in program.inputs:
            shutil.copy(HERE / "inputs" / name, directory)
        for path in glob.glob(program.data):
            os.symlink(path, Path(directory, os.path.basename(path)))
        variables = {"OMP_NUM_THREADS": "1"}
        stats = Path(directory, "libcoll.json")
        if shim:
            variables |= {name: value for name, value in os.environ.items() if name.startswith("COLL_")}
            variables |= {"LD_PRELOAD": str(shim), "COLL_STATS": str(stats)}
        command = mpirun.command(program.mpi, mpirun.group(program.mpi, ranks, variables, program.words),
                                 options=mpirun.binding(program.mpi, "none"))
        started = time.monotonic()
        status, out, err = mpirun.run(command, timeout_s, directory)
        made = Run(status, program.results_of(out + err), time.monotonic() - started, out + err)
        if stats.exists():
            report = json.loads(stats.read_text(encoding="utf-8"))
            made.served, made.forwarded = report["total"]["served"], report["total"]["forwarded"]
            for one in report["forwarded"]:
                made.reasons[one["why"]] = made.reasons.get(one["why"], 0) + one["calls"]
    return made


def failure(program, one):
    """The verdict on a run by itself; None: it has results."""
    if one.status not in program.statuses:
        return FAILS
    return None if one.results else SILENT


def verdict(program, without, ours):
    """Returns the verdict on a run with the shim, and lines that say why it is bad."""
    if failed := failure(program, ours):
        return failed, ours.last_lines()
    if not ours.served:
        return FAILS, [f"libcoll served none of its calls: {ours.reasons}"]
    if len(without.results) != len(ours.results):
        difference = [f"{len(without.results)} results without, {len(ours.results)} with the shim"]
    elif without.status != ours.status:
        difference = [f"ends with {without.status} without, {ours.status} with the shim"]
    else:
        unlike = [(one, other) for one, other in zip(without.results, ours.results) if not same(program, one, other)]
        difference = [line for one, other in unlike[:5] for line in (f"without: {one}", f"with:    {other}")]
    if not difference:
        return SAME, []
    failed = without.failed(program)
    if failed and ours.failed(program) <= failed:
        return WITHOUT, [f"{failed} failures without, {ours.failed(program)} with the shim"]
    return OTHER, difference


def check(program, options):
    """Runs a program without the shim and with it. Returns what is reported, for --json too."""
    ranks = program.ranks or options.ranks
    report = {"program": program.name, "package": program.package, "mpi": program.mpi, "ranks": ranks}
    shim = options.shims / f"libcoll_mpi_{program.mpi}.so"
    if not shutil.which(mpirun.LAUNCHERS[program.mpi]) or not program.is_installed():
        return {**report, "verdict": ABSENT, "why": [f"package {program.package}"]}
    if not shim.exists():
        return {**report, "verdict": ABSENT, "why": [f"there is no {shim}"]}
    without = run(program, None, ranks, options.timeout)
    report |= {"results": len(without.results), "seconds": [round(without.seconds, 2)]}
    if failed := failure(program, without):
        return {**report, "verdict": WITHOUT if failed == FAILS else SILENT, "why": without.last_lines()}
    ours = run(program, shim, ranks, options.timeout)
    found, why = verdict(program, without, ours)
    # Some programs hang in some runs.
    if ours.status is None and any(run(program, None, ranks, options.timeout).status is None for _ in range(AGAIN)):
        found, why = WITHOUT, ["exceeds the time limit, in some runs without the shim, too"]
    return {**report, "verdict": found, "why": why, "seconds": [round(without.seconds, 2), round(ours.seconds, 2)],
            "served": ours.served, "forwarded": ours.forwarded, "reasons": ours.reasons}


def line(report):
    """One line for a program."""
    text = f"{report['program']:<20} {report['mpi']:<8} {report['ranks']} ranks  {report['verdict']:<14}"
    if report["verdict"] == ABSENT:
        return f"{text} ({report['why'][0]})"
    text += f" {report['results']:>4} results  " + ", ".join(f"{seconds:6.1f} s" for seconds in report["seconds"])
    if "served" in report:
        text += f"  {report['served']} of {report['served'] + report['forwarded']} calls served"
    return text


def absolute(path):
    """The programs run in other directories."""
    return Path(path).resolve()


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__.split(".", maxsplit=1)[0])
    parser.add_argument("--shims", type=absolute, required=True, metavar="DIR", help="where libcoll_mpi_*.so are")
    parser.add_argument("--only", metavar="REGEX", default="", help="only where name and MPI contain this: 'xd.* mpich'")
    parser.add_argument("--ranks", type=int, default=2, help="of programs that need no other number; default: 2")
    parser.add_argument("--timeout", type=float, default=300, metavar="S", help="for one run; default: 300")
    parser.add_argument("--mpi4py", type=absolute, metavar="DIR", help="sources of mpi4py: run its tests")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument("--list", action="store_true", help="print the programs and their packages")
    options = parser.parse_args(words)
    if options.mpi4py and not glob.glob(f"{options.mpi4py}/test/test_*.py"):
        parser.error(f"--mpi4py: {options.mpi4py} has no tests of mpi4py in test/")
    return options


def main():
    options = options_of(sys.argv[1:])
    os.environ.pop("LD_PRELOAD", None)
    chosen = [one for one in programs(options.mpi4py) if re.search(options.only, f"{one.name} {one.mpi}")]
    if options.list:
        print("\n".join(f"{one.name:<20} {one.mpi:<8} {one.package}" for one in chosen))
        return 0
    reports = []
    for program in chosen:
        reports.append(check(program, options))
        print(line(reports[-1]), flush=True)
        if reports[-1]["verdict"] in (*BAD, WITHOUT):
            print("".join(f"    {text}\n" for text in reports[-1]["why"]), end="", flush=True)
        if options.json:
            options.json.write_text(json.dumps(reports, indent=1) + "\n", encoding="utf-8")
    counts = {found: sum(report["verdict"] == found for report in reports) for found in (SAME, *BAD, WITHOUT, ABSENT)}
    print(", ".join(f"{number} {found}" for found, number in counts.items()))
    if any(counts[found] for found in BAD):
        return 1
    return 0 if counts[SAME] else 77


if __name__ == "__main__":
    sys.exit(main())
