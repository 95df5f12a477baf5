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

PODMAN = ["podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs", "run", "--rm", "--env-host",
          "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000"]
HOST_NETWORK, NO_NETWORK = ["--network", "host"], ["--network", "none"]


def container(*options):
    return [*PODMAN, *options, "--rootfs", "/:O"]


def lines(done):
    return sorted(line for line in done.stdout.splitlines() if line.startswith(("rank", "error")))


class Containers(unittest.TestCase):
    def test_one_for_each_rank(self):
        done = run(launchers_test.Script().command(2, *container(*HOST_NETWORK), MEETING, "create", "sum"))
        self.assertEqual(lines(done), sums(2), done.stderr)

    def test_one_for_each_rank_of_mpirun(self):
        done = run(launchers_test.OpenMpi().command(2, *container(*HOST_NETWORK), MEETING, "create", "sum"))
        self.assertEqual(lines(done), sums(2), done.stderr)

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
            program = os.environ.get(f"WITH_MPI_{mpi.upper()}")
            if program is None:
                continue
            ranks = mpirun.group(mpi, 2, {"LD_PRELOAD": os.environ[f"SHIM_{mpi.upper()}"]}, [program, "mpi-first"])
            done = run([*container(*HOST_NETWORK), *mpirun.command(mpi, ranks, options=mpirun.binding(mpi, "none"))])
            self.assertEqual(lines(done), [f"rank {rank} of 2: sums 2 2" for rank in range(2)], (mpi, done.stderr))


if __name__ == "__main__":
    if os.geteuid() != 0 or shutil.which("podman") is None or shutil.which("runc") is None:
        print("skipped: podman and runc are not installed (packages podman, runc), or this user is not root")
        sys.exit(77)
    TRIED = subprocess.run([*container(*HOST_NETWORK), "true"], capture_output=True, text=True, check=False, env=environment())
    if TRIED.returncode != 0:
        print(f"skipped: podman runs no container here: {TRIED.stderr.strip()[-300:]}")
        sys.exit(77)
    sys.exit(launchers_test.exit_status(unittest.main(exit=False).result))
