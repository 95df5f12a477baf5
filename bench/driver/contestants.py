# SPDX-License-Identifier: BSD-3-Clause
"""The contestants and how each is launched. A contestant is one command that prints JSON lines."""

import dataclasses
import functools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "mpi"))
import mpirun

SHIM = "lib/mpi/libcoll_mpi_{}.so"


@dataclasses.dataclass
class Contestant:
    name: str      # column heading, no spaces
    title: str     # shown to the user
    ours: bool     # libcoll, to be compared with the fastest of the others
    command: list  # without the benchmark's own arguments
    native: bool = False  # `collctl bench`, which takes one collective at a time
    arguments: tuple = ()  # arguments of the benchmark for this contestant only


def available_mpis():
    return [m for m, launcher in mpirun.LAUNCHERS.items() if shutil.which(launcher) and shutil.which(f"mpicc.{m}")]


# Sessions share the processors first (autogroup), nice values count only inside one; and MPICH's launcher opens a
# session for every rank. So each rank raises its own priority. Needs root; without it nothing changes.
URGENT = ["sh", "-c", 'echo -20 2>/dev/null >/proc/self/autogroup; exec nice -n -20 "$@"', "sh"]


def launcher(mpi, ranks, preload=None, mca=(), bind="none", env=None, urgent=False, start=list):
    """The command in front of a program. coll_bench pins its ranks itself, so by default ranks are not bound. `urgent`
    reduces disturbance by other work on the machine; `mca` and `start` are for Open MPI, the latter as for mpirun.command()."""
    env = dict(env or {}, **({"LD_PRELOAD": preload} if preload else {}))
    options = mpirun.binding(mpi, bind) + [word for name, value in mca for word in ("--mca", name, value)]
    return mpirun.command(mpi, mpirun.group(mpi, ranks, env, URGENT if urgent else []), options=options, start=start)


def shim_path(build, mpi):
    path = Path(build).resolve() / SHIM.format(mpi)
    return path if path.exists() else None


TITLES = {"openmpi": "Open MPI", "mpich": "MPICH"}
# Open MPI without kernel-assisted copies: before release 5, and since.
NO_CMA = [("btl_vader_single_copy_mechanism", "none"), ("smsc", "^cma,knem,xpmem")]
# The MPI libraries with each setting that is reported to be the fastest on some machine: (what differs, which, for launcher()).
COMPONENTS = ("sm", "acoll", "xhc", "ucc")  # of Open MPI's framework coll; measured where it has them
PEERS = {
    "openmpi": (" as installed", "openmpi", {}),
    "openmpi-nocma": (" without CMA", "openmpi", {"mca": NO_CMA}),
    **{f"openmpi-{name}": (f", component {name}", "openmpi", {"mca": [(f"coll_{name}_priority", "100")]})
       for name in COMPONENTS},
    "mpich": (" as installed", "mpich", {}),
    "mpich-nocma": (" without CMA", "mpich", {"env": {"UCX_TLS": "^cma"}}),
}
AS_INSTALLED = ("openmpi", "mpich")  # of these, the defaults


@functools.cache
def open_mpi_components():
    """Returns the components of the framework coll that the installed Open MPI has."""
    try:
        found = subprocess.run(["ompi_info", "--parsable"], capture_output=True, text=True, env=mpirun.environment()).stdout
    except OSError:
        return frozenset()
    return frozenset(re.findall(r"^mca:coll:(\w+):version:", found, re.MULTILINE))


def peers(ranks, program, urgent=False, names=tuple(PEERS)):
    """Returns those of PEERS that can run here. `program(mpi)` is the path of the benchmark built with that MPI."""
    return [Contestant(name, TITLES[mpi] + title, False,
                       launcher(mpi, ranks, urgent=urgent, **more) + [str(program(mpi))])
            for name, (title, mpi, more) in PEERS.items() if name in names and mpi in available_mpis()
            and name.removeprefix("openmpi-") not in set(COMPONENTS) - open_mpi_components()]


def contestants(build, ranks, program, urgent=False):
    """Returns all contestants of `make bench` that can run here; `program` as for peers()."""
    found = []
    compared = {"openmpi": ("openmpi", "openmpi-nocma", "openmpi-acoll", "openmpi-xhc", "openmpi-ucc"),
                "mpich": ("mpich",)}
    for mpi, names in compared.items():
        found += (rivals := peers(ranks, program, urgent, names))
        if rivals and (shim := shim_path(build, mpi)):
            found.append(Contestant(f"coll+{mpi}", f"libcoll preloaded into {TITLES[mpi]}", True,
                                    launcher(mpi, ranks, preload=shim, urgent=urgent) + [str(program(mpi))]))
    collctl = Path(build).resolve() / "tools" / "collctl"
    if os.access(collctl, os.X_OK):
        found.append(Contestant("coll", "libcoll without MPI (collctl bench)", True,
                                (URGENT if urgent else []) + [str(collctl), "bench"], native=True))
    return found


LIMIT = "limit"
TWO_COPIES = "limit-2copy"  # the limit of ordinary memory without kernel-assisted copies


def libcoll_on(mpi, build, ranks, program, urgent=False):
    """Returns libcoll under one MPI, with each kind of buffers; and the upper bounds, which that MPI only starts.
    The bound of two copies is implemented for two ranks only."""
    exe, shim = str(program(mpi)), shim_path(build, mpi)
    heap = {"COLL_HEAP": "shared"}
    found = [Contestant(name, "upper bound, hand-written: " + title, False, launcher(mpi, ranks, urgent=urgent) + [exe],
                        arguments=("--limit", limit))
             for name, title, limit in ((LIMIT, "ranks address each other's buffers", "direct"),
                                      (TWO_COPIES, "ordinary memory, staged through shared memory", "2copy"))
             if limit == "direct" or ranks == 2]
    if shim:
        found += [
            Contestant("coll", "libcoll, ordinary memory", True,
                       launcher(mpi, ranks, preload=shim, urgent=urgent) + [exe]),
            Contestant("coll-mpi", "libcoll, MPI_Alloc_mem", True,
                       launcher(mpi, ranks, preload=shim, urgent=urgent) + [exe], arguments=("--memory", "mpi")),
            Contestant("coll-heap", "libcoll, COLL_HEAP=shared", True,
                       launcher(mpi, ranks, preload=shim, env=heap, urgent=urgent) + [exe])]
    return found


def json_lines(text):
    """Parses the rows of a benchmark's output: JSON lines, or one document that holds a list of rows."""
    try:
        document = json.loads(text)
        lists = [document] if isinstance(document, list) else [v for v in document.values() if isinstance(v, list)]
        if lists:
            return [row for rows in lists for row in rows if isinstance(row, dict)]
    except json.JSONDecodeError:
        pass
    rows = []
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                pass  # the last line of a launch that was stopped
    return rows
