# SPDX-License-Identifier: BSD-3-Clause
"""Starts MPI programs by the launchers of Open MPI and MPICH, for tests and for bench/."""
import os
import signal
import subprocess

LAUNCHERS = {"openmpi": "mpirun.openmpi", "mpich": "mpirun.mpich"}  # as Debian calls them


def environment(**more):
    """Returns the environment in which both launchers run without warnings, also as root in a container."""
    defaults = {"OMPI_MCA_btl_base_warn_component_unused": "0"}
    as_root = {f"{name}_ALLOW_RUN_AS_ROOT{confirm}": "1" for name in ("OMPI", "PRTE") for confirm in ("", "_CONFIRM")}
    return {**defaults, **os.environ, **as_root, **more}


def binding(mpi, unit):
    """Returns options: each rank is bound to such a unit ("core", "none"), and there may be more ranks than cores."""
    return ["--oversubscribe", "--bind-to", unit] if mpi == "openmpi" else ["-bind-to", unit]


def group(mpi, ranks, variables=None, program=()):
    """Returns the words of a launcher for `ranks` ranks of one program, with these variables in their environment."""
    words = ["-n", str(ranks)]
    for name, value in (variables or {}).items():
        words += ["-x", f"{name}={value}"] if mpi == "openmpi" else ["-env", name, str(value)]
    return words + [str(word) for word in program]


def command(mpi, *groups, options=(), launcher=None, start=list):
    """Returns the command that starts groups of ranks, numbered in their order; the words of a program may follow it.
    `launcher` is its path, if it is another one; `start` of Open MPI's launcher starts it elsewhere: namespaces.py."""
    words = start([launcher or LAUNCHERS[mpi]]) + list(options)
    for number, of_group in enumerate(groups):
        words += [":"] * (number > 0) + of_group
    return words


def run(words, timeout_s, directory=None, **variables):
    """Runs a command, in that directory, in a process group of its own. Returns its exit status (None: it exceeded the
    time limit), its output and its standard error. Whatever the command started ends with it."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                               start_new_session=True, env=environment(**variables), cwd=directory)
    try:
        out, err = process.communicate(timeout=timeout_s)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:
        # On SIGTERM a launcher ends its ranks; kill the group only if it does not.
        os.killpg(process.pid, signal.SIGTERM)
        try:
            out, err = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
        return None, out, err
    except BaseException:  # KeyboardInterrupt
        os.killpg(process.pid, signal.SIGKILL)
        raise
