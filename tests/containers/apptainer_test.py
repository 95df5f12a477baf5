# SPDX-License-Identifier: BSD-3-Clause
"""Ranks in containers of apptainer, each in its own and all in one. The image is a directory with the system, and the programs of this
machine are bound into it. An ordinary user, and root in containers that are not privileged, has a user namespace in each container."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import launchers_test  # not its classes: unittest would run them here, too
from launchers_test import COLLCTL, MEETING, environment, run, sums
from ranks import apptainer, lines, make_image, mpi_sums, on_host, single_copies, single_copies_of_world, with_mpi

# MPICH's UCX otherwise opens the memory of its peers in /proc, which other user namespaces may not.
UCX = {"UCX_POSIX_USE_PROC_LINK": "n"}
IMAGE = ""  # set below


def container(*options):
    return apptainer(IMAGE, *options)


class Containers:
    """The cases for each kind of container. A subclass names the options."""
    options = ()
    are_single = False  # ranks in containers of their own copy from each other
    open_mpi = {}  # variables that Open MPI needs with one container for each rank

    @classmethod
    def setUpClass(cls):
        tried = subprocess.run([*container(*cls.options), "true"], capture_output=True, text=True, check=False, env=environment())
        if tried.returncode != 0:
            raise unittest.SkipTest(f"apptainer runs no such container here: {tried.stderr.strip()[-300:]}")

    def test_one_for_each_rank(self):
        for launcher in (launchers_test.Script(), launchers_test.OpenMpi(), launchers_test.Mpich()):
            done = run(launcher.command(2, *container(*self.options), MEETING, "create", "sum", "create", "sum"))
            self.assertEqual(lines(done), sorted(2 * sums(2)), (launcher.name, done.stderr))

    def test_one_for_all_ranks(self):
        for command in ([COLLCTL, "run", "-n", "2", MEETING, "create", "sum"], launchers_test.Script().command(2, MEETING, "create", "sum"),
                        launchers_test.OpenMpi().command(2, MEETING, "create", "sum")):
            done = run([*container(*self.options), *command])
            self.assertEqual(lines(done), sums(2), done.stderr)

    def test_single_copies(self):
        each, of_all = launchers_test.Script().command, container(*self.options)
        self.assertEqual(single_copies(each, *container(*self.options)), self.are_single and on_host())
        self.assertEqual(on_host(of_all), on_host())

    def expect_shim(self, mpi, command, are_single, **more):
        if with_mpi(mpi) is None:
            self.skipTest(f"no shim for {mpi} is built")
        program, shim = with_mpi(mpi)
        # Containers start slowly where other processes use all cores.
        done = run(command("env", f"LD_PRELOAD={shim}", program, "mpi-first"), timeout=300, COLL_LOG="info", **UCX, **more)
        self.assertEqual(lines(done), mpi_sums(2), done.stderr)
        self.assertEqual(single_copies_of_world(done), are_single, done.stderr)

    def test_the_shim_with_open_mpi_in_one_for_each_rank(self):
        self.expect_shim("openmpi", lambda *program: launchers_test.OpenMpi().command(2, *container(*self.options), *program),
                         self.are_single and on_host(), **self.open_mpi)

    def test_the_shim_with_mpich_in_one_for_each_rank(self):
        self.expect_shim("mpich", lambda *program: launchers_test.Mpich().command(2, *container(*self.options), *program),
                         self.are_single and on_host())

    def test_the_shim_with_open_mpi_in_one_for_all_ranks(self):
        self.expect_shim("openmpi", lambda *program: [*container(*self.options), *launchers_test.OpenMpi().command(2, *program)], on_host())

    def test_the_shim_with_mpich_in_one_for_all_ranks(self):
        self.expect_shim("mpich", lambda *program: [*container(*self.options), *launchers_test.Mpich().command(2, *program)], on_host())


class UserNamespaces(Containers, unittest.TestCase):
    """As for an ordinary user."""
    options = ("--userns",)


class ProcessNamespaces(Containers, unittest.TestCase):
    """And a pid and an IPC namespace, which --containall and --compat create, too. Open MPI's shared memory fails there."""
    options = ("--userns", "--pid", "--ipc")
    open_mpi = {"OMPI_MCA_btl": "self,tcp"}


class SharedNamespaces(Containers, unittest.TestCase):
    """--sharens: containers that one process has started share the namespaces of the first."""
    options = ("--userns", "--sharens")
    are_single = True


class OfRoot(Containers, unittest.TestCase):
    """Root's containers have the user namespace of the host. Without privileges inside, because where this machine is itself a container,
    apptainer asks for more than root has."""
    options = ("--no-privs",)
    are_single = True

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("these are containers of root")
        super().setUpClass()


if __name__ == "__main__":
    if shutil.which("apptainer") is None:
        print("skipped: apptainer is not installed (package apptainer, in Debian unstable)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as FOLDER:
        IMAGE = make_image(FOLDER)
        STATUS = launchers_test.exit_status(unittest.main(exit=False).result)
    sys.exit(STATUS)
