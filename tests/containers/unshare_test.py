# SPDX-License-Identifier: BSD-3-Clause
"""Ranks in namespaces, as in containers: each in its own, and all in one. Native programs and the shim."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import launchers_test  # not its classes: unittest would run them here, too
from launchers_test import COLLCTL, MEETING, run, sums
from ranks import lines, mpi_sums, single_copies_of_world, with_mpi

# The leak detector of sanitized programs cannot find threads where /proc is that of another pid namespace.
SANITIZER = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
USER, PID, MOUNT, IPC, NETWORK = ["-Ur"], ["-Urpf"], ["-Urm"], ["-Uri"], ["-Urn"]
CONTAINER = ["-Urpfmi", "--mount-proc"]  # as a container that shares the network of its host
ISOLATED = ["-Urpfmin", "--mount-proc"]


def unshare(*options):
    """The command in front of a program; skips the test where it is refused."""
    command = ["unshare", *options]
    tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise unittest.SkipTest(f"{' '.join(command)}: {tried.stderr.strip()}")
    return command


def starting_with(launcher):
    """Returns a function from the number of ranks and a program to the command of that launcher."""
    return getattr(launchers_test, launcher)().command


class Ranks(unittest.TestCase):
    def launchers(self, mpi=True):
        """Returns each installed launcher, as a function from ranks and program to a command, with its name. Those of MPI libraries
        take longer to start."""
        for kind, tool in (("Script", "sh"), ("ScriptWithAFile", "sh"), ("OpenMpi", "mpirun.openmpi"), ("Mpich", "mpirun.mpich")):
            if shutil.which(tool) and (mpi or tool == "sh"):
                yield kind, starting_with(kind)

    def test_each_in_a_container_of_its_own(self):
        for options in (USER, PID, MOUNT, IPC, CONTAINER):
            for name, command in self.launchers(options in (USER, CONTAINER)):
                with self.subTest(namespaces=options[0], launcher=name):
                    done = run(command(2, *unshare(*options), MEETING, "create", "sum", "create", "sum"), **SANITIZER)
                    self.assertEqual(lines(done), sorted(2 * sums(2)), done.stderr)

    def test_each_with_a_network_of_its_own(self):
        """They share /dev/shm and meet in a file there."""
        for options in (NETWORK, ["-Urpfn"]):
            for name, command in self.launchers(options is NETWORK):
                with self.subTest(namespaces=options[0], launcher=name):
                    done = run(command(2, *unshare(*options), MEETING, "create", "sum"), **SANITIZER)
                    self.assertEqual(lines(done), sums(2), done.stderr)

    def test_nothing_shared_but_a_directory(self):
        hide = 'mount -t tmpfs tmpfs /dev/shm && exec "$@"'
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            for name, command in self.launchers():
                wrapped = [*unshare(*ISOLATED), "sh", "-c", hide, "sh", MEETING]
                with self.subTest(launcher=name):
                    done = run(command(2, *wrapped, "create", "sum"), COLL_RENDEZVOUS_DIR=folder, **SANITIZER)
                    self.assertEqual(lines(done), sums(2), done.stderr)
                    self.assertEqual(os.listdir(folder), [])

    def test_nothing_shared_is_reported(self):
        hide = 'mount -t tmpfs tmpfs /dev/shm && exec "$@"'
        wrapped = [*unshare(*ISOLATED), "sh", "-c", hide, "sh", MEETING]
        done = run(starting_with("Script")(2, *wrapped, "try"), COLL_RENDEZVOUS_TIMEOUT="3", **SANITIZER)
        printed = lines(done)
        self.assertEqual(len(printed), 2, done)
        for line, absent in zip(printed, (0, 1)):
            self.assertIn(f"rank {absent} of the script that sets COLL_RANK has not come within 3 s", line)
            self.assertIn("COLL_RENDEZVOUS_DIR, here /dev/shm): bind one into every container", line)

    def test_some_in_a_container(self):
        for rank in (0, 1):
            inside = " ".join(unshare(*PID))
            script = f"[ $COLL_RANK = {rank} ] && exec {inside} {MEETING} create sum; exec {MEETING} create sum"
            self.assertEqual(lines(run(starting_with("Script")(3, "sh", "-c", script), **SANITIZER)), sums(3))

    def test_all_in_one_container(self):
        for options in (USER, PID, CONTAINER, ISOLATED):
            for name, command in self.launchers(options is CONTAINER):
                with self.subTest(namespaces=options[0], launcher=name):
                    done = run([*unshare(*options), *command(2, MEETING, "create", "sum")], **SANITIZER)
                    self.assertEqual(lines(done), sums(2), done.stderr)

    def test_a_child_in_a_container_is_no_second_rank(self):
        inner = " ".join([*unshare(*PID), MEETING, "create"])
        for name, command in self.launchers():
            with self.subTest(launcher=name):
                done = run(command(2, MEETING, "create", "only", "0", "start", inner, "sum"), **SANITIZER)
                printed = lines(done)
                self.assertEqual([line for line in printed if line.startswith("rank")], sums(2))
                self.assertIn("rank 0 of", printed[0])
                self.assertIn("is another process", printed[0])

    def test_doctor(self):
        done = run(starting_with("Script")(2, *unshare(*CONTAINER), COLLCTL, "doctor"), **SANITIZER)
        self.assertIn("has started 2 ranks, and", done.stdout)
        self.assertIn("pid and user namespaces", " ".join(done.stdout.split()))

    def test_launchers_that_disagree_where_ancestors_cannot_be_seen(self):
        step = {"SLURM_JOB_ID": "1", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0",
                "PMIX_NAMESPACE": "x", "PMIX_RANK": "1"}
        done = run([*unshare(*PID), MEETING, "try"], **step, **SANITIZER)
        self.assertIn("error srun says rank 0 of 1 and a launcher with PMIx says rank 1", done.stdout)


class Shims(unittest.TestCase):
    """MPI programs whose ranks have containers of their own. The MPI libraries need the network of the host,
    and MPICH's UCX needs a setting not to access the memory of its peers through /proc."""
    def expect_sums(self, mpi, command, options, **more):
        if with_mpi(mpi) is None:
            self.skipTest(f"no shim for {mpi} is built")
        program, shim = with_mpi(mpi)
        for preloaded, order in (("", "coll-first"), (shim, "mpi-first")):
            done = run(command(2, *unshare(*options), *launchers_test.preload(preloaded), program, order), COLL_LOG="info", **more,
                       **SANITIZER)
            self.assertEqual(lines(done), mpi_sums(2), (mpi, options, preloaded, done.stderr))
            # None: the shim has left the ranks to the MPI library.
            self.assertIs(single_copies_of_world(done), False if preloaded else None, (mpi, options, done.stderr))

    def test_open_mpi_in_user_namespaces(self):
        self.expect_sums("openmpi", starting_with("OpenMpi"), USER)

    def test_open_mpi_in_pid_namespaces(self):
        """Its own shared memory fails there."""
        self.expect_sums("openmpi", starting_with("OpenMpi"), PID, OMPI_MCA_btl="self,tcp")

    def test_mpich_in_user_namespaces(self):
        self.expect_sums("mpich", starting_with("Mpich"), USER, UCX_POSIX_USE_PROC_LINK="n")

    def test_mpich_in_pid_namespaces(self):
        self.expect_sums("mpich", starting_with("Mpich"), PID, UCX_TLS="tcp,self")


if __name__ == "__main__":
    if shutil.which("unshare") is None:
        print("skipped: unshare is not installed (package util-linux)")
        sys.exit(77)
    sys.exit(launchers_test.exit_status(unittest.main(exit=False).result))
