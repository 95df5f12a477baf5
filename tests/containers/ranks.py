# SPDX-License-Identifier: BSD-3-Clause
"""What ranks in containers print, for the tests of this directory and of Slurm."""
import os
import re
import shutil

import launchers_test
from launchers_test import COLLCTL, MEETING, mpirun, run

WORLD = re.compile(r"communicator MPI_COMM_WORLD of (\d+) ranks.* \(256 KiB: ([^)]*)\)")


def lines(done):
    return sorted(line for line in done.stdout.splitlines() if line.startswith(("rank", "error")))


def mpi_sums(ranks):
    """The lines of with_mpi."""
    return [f"rank {rank} of {ranks}: sums {ranks} {ranks}" for rank in range(ranks)]


def single_copies_of_world(done):
    """Returns whether the ranks can copy by CMA, as the shim logs it for MPI_COMM_WORLD, and None where the shim does not serve it. The
    ranks ran with COLL_LOG=info."""
    line = WORLD.search(done.stderr)
    return line and "cma" in line[2]


def single_copies(command, *program):
    """Returns whether two ranks of the native program copy by CMA: started with it forced, they succeed or say why not."""
    done = run(command(2, *program, MEETING, "try", "sum"), COLL_TRANSPORT="cma")
    if lines(done) == launchers_test.sums(2):
        return True
    assert len(lines(done)) == 2 and all("namespace" in line for line in lines(done)), done
    return False


def on_host(program=()):
    """Returns whether two ranks outside containers, or all in one, copy by CMA: other kernels and filters refuse it."""
    return single_copies(lambda ranks, *words: [*program, *launchers_test.Script().command(ranks, *words)])


def with_mpi(mpi):
    """Returns the MPI program and the shim of openmpi or mpich; None if they are not built."""
    program = os.environ.get(f"WITH_MPI_{mpi.upper()}")
    return program and (program, os.environ[f"SHIM_{mpi.upper()}"])


def make_image(folder):
    """Returns a sandbox with the links and mount points of this machine's root, whose programs are bound into it."""
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if os.path.islink(f"/{name}"):
            os.symlink(os.readlink(f"/{name}"), f"{folder}/{name}")
    for name in ("usr", "etc", "proc", "sys", "dev", "tmp", "var/tmp", "root", "home", *build_folders()):
        os.makedirs(f"{folder}/{name.lstrip('/')}", exist_ok=True)
    for name in ("passwd", "group"):
        shutil.copy(f"/etc/{name}", f"{folder}/etc/{name}")
    return folder


def build_folders():
    """The folders with libcoll, its tests and the programs of the tests."""
    files = [COLLCTL, MEETING, *(file for mpi in mpirun.LAUNCHERS for file in with_mpi(mpi) or ())]
    return sorted({os.path.dirname(os.path.realpath(file)) for file in files} | {os.path.dirname(os.path.realpath(os.environ["LIBRARY"]))})


def apptainer(image, *options):
    """Returns the command in front of a program that runs in a container of apptainer."""
    binds = [word for folder in ("/usr", "/etc/alternatives", *build_folders()) for word in ("--bind", folder)]
    return ["apptainer", "--silent", "exec", *options, *binds, image]
