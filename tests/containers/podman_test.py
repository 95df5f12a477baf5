# SPDX-License-Identifier: BSD-3-Clause
"""Ranks in containers of podman, each in its own and all in one. The root of the containers is this machine's, as an
overlay, so that no image is needed; each has a /dev/shm, process numbers and, unless a test shares one, a network of its
own."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import launchers_test  # not its classes: unittest would run them here, too
from launchers_test import COLLCTL, MEETING, environment, mpirun, run, sums
from ranks import lines, mpi_sums, on_host, single_copies, single_copies_of_world, with_mpi

PODMAN = ["podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs"]
LABEL = f"libcoll-test={os.getpid()}"
HOST_NETWORK, NO_NETWORK = ["--network", "host"], ["--network", "none"]
HOST_PROCESSES = [*HOST_NETWORK, "--pid", "host", "--ipc", "host"]
# podman keeps a range of descriptors that begins with 3: this moves hydra's two sockets there.
WITH_SOCKETS = ["bash", "-c", 'exec {pmi}<&$PMI_FD {control}<&$HYDI_CONTROL_FD; exec 3<&$pmi 4<&$control; '
                'PMI_FD=3 HYDI_CONTROL_FD=4 exec "$@"', "bash"]


def container(*options):
    return [*PODMAN, "run", "--rm", "--env-host", "--label", LABEL, "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000", *options,
            "--rootfs", "/:O"]


class Containers(unittest.TestCase):
    def tearDown(self):
        """A container does not end with the launcher that has started it."""
        left = subprocess.run([*PODMAN, "ps", "-q", "--filter", f"label={LABEL}"], capture_output=True, text=True, check=True).stdout.split()
        if left:
            subprocess.run([*PODMAN, "rm", "-f", *left], capture_output=True, check=True)

    def test_one_for_each_rank(self):
        done = run(launchers_test.Script().command(2, *container(*HOST_NETWORK), MEETING, "create", "sum"))
        self.assertEqual(lines(done), sums(2), done.stderr)

    def test_one_for_each_rank_of_mpirun(self):
        done = run(launchers_test.OpenMpi().command(2, *container(*HOST_NETWORK), MEETING, "create", "sum"))
        self.assertEqual(lines(done), sums(2), done.stderr)

    def test_one_for_each_rank_of_mpiexec(self):
        done = run(launchers_test.Mpich().command(2, *WITH_SOCKETS, *container(*HOST_NETWORK, "--preserve-fds", "2"), MEETING, "create", "sum"))
        self.assertEqual(lines(done), sums(2), done.stderr)

    def test_single_copies(self):
        """Only ranks of one pid namespace copy from each other."""
        command = launchers_test.Script().command
        self.assertFalse(single_copies(command, *container(*HOST_NETWORK)))
        self.assertEqual(single_copies(command, *container(*HOST_PROCESSES)), on_host())
        self.assertEqual(on_host(container(*NO_NETWORK)), on_host())

    def expect_shim(self, command, mpi, are_single, **more):
        if with_mpi(mpi) is None:
            self.skipTest(f"no shim for {mpi} is built")
        program, shim = with_mpi(mpi)
        done = run(command("env", f"LD_PRELOAD={shim}", program, "mpi-first"), COLL_LOG="info", **more)
        self.assertEqual(lines(done), mpi_sums(2), done.stderr)
        self.assertEqual(single_copies_of_world(done), are_single, done.stderr)

    def test_the_shim_with_open_mpi_in_one_for_each_rank(self):
        """Open MPI's own shared memory does not work across pid namespaces."""
        self.expect_shim(lambda *program: launchers_test.OpenMpi().command(2, *container(*HOST_NETWORK), *program), "openmpi",
                         False, OMPI_MCA_btl="self,tcp")

    def test_the_shim_with_open_mpi_and_the_host_s_processes(self):
        """It needs the session directory of mpirun, besides."""
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            options = [*HOST_PROCESSES, "-v", f"{folder}:{folder}"]
            self.expect_shim(lambda *program: launchers_test.OpenMpi().command(2, *container(*options), *program), "openmpi",
                             on_host(), OMPI_MCA_orte_tmpdir_base=folder, PRTE_MCA_prte_tmpdir_base=folder)

    def test_the_shim_with_mpich_in_one_for_each_rank(self):
        """MPICH needs a common /dev/shm; its UCX otherwise accesses peers through /proc."""
        options = [*HOST_NETWORK, "--ipc", "host", "--preserve-fds", "2"]
        self.expect_shim(lambda *program: launchers_test.Mpich().command(2, *WITH_SOCKETS, *container(*options), *program), "mpich",
                         False, UCX_TLS="tcp,self")

    def test_the_shim_with_mpich_and_the_host_s_processes(self):
        options = [*HOST_PROCESSES, "--preserve-fds", "2"]
        self.expect_shim(lambda *program: launchers_test.Mpich().command(2, *WITH_SOCKETS, *container(*options), *program), "mpich",
                         on_host())

    def test_networks_of_their_own_with_a_directory(self):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            command = container(*NO_NETWORK, "-v", f"{folder}:/job")
            done = run(launchers_test.Script().command(2, *command, MEETING, "create", "sum"), COLL_RENDEZVOUS_DIR="/job")
            self.assertEqual(lines(done), sums(2), done.stderr)
            self.assertEqual(os.listdir(folder), [])

    def test_networks_of_their_own_with_the_host_s_ipc(self):
        done = run(launchers_test.Script().command(2, *container(*NO_NETWORK, "--ipc", "host"), MEETING, "create", "sum"))
        self.assertEqual(lines(done), sums(2), done.stderr)

    def test_networks_of_their_own_are_reported(self):
        done = run(launchers_test.Script().command(2, *container(*NO_NETWORK), MEETING, "try"), COLL_RENDEZVOUS_TIMEOUT="8")
        self.assertEqual(len(lines(done)), 2, done)
        for line in lines(done):
            self.assertIn("COLL_RENDEZVOUS_DIR, here /dev/shm): bind one into every container", line)

    def test_one_for_all_ranks(self):
        for command in ([COLLCTL, "run", "-n", "2", MEETING, "create", "sum"], launchers_test.Script().command(2, MEETING, "create", "sum")):
            done = run([*container(*NO_NETWORK), *command])
            self.assertEqual(lines(done), sums(2), done.stderr)

    def test_the_shim_in_one_for_all_ranks(self):
        for mpi in mpirun.LAUNCHERS:
            if with_mpi(mpi) is None:
                continue
            program, shim = with_mpi(mpi)
            ranks = mpirun.group(mpi, 2, {"LD_PRELOAD": shim}, [program, "mpi-first"])
            done = run([*container(*HOST_NETWORK), *mpirun.command(mpi, ranks, options=mpirun.binding(mpi, "none"))], COLL_LOG="info")
            self.assertEqual(lines(done), mpi_sums(2), (mpi, done.stderr))
            self.assertEqual(single_copies_of_world(done), on_host(), (mpi, done.stderr))


if __name__ == "__main__":
    if os.geteuid() != 0 or shutil.which("podman") is None or shutil.which("runc") is None:
        print("skipped: podman and runc are not installed (packages podman, runc), or this user is not root")
        sys.exit(77)
    TRIED = subprocess.run([*container(*HOST_NETWORK), "true"], capture_output=True, text=True, check=False, env=environment())
    if TRIED.returncode != 0:
        print(f"skipped: podman runs no container here: {TRIED.stderr.strip()[-300:]}")
        sys.exit(77)
    sys.exit(launchers_test.exit_status(unittest.main(exit=False).result))
