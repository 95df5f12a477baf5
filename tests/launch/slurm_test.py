# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that Slurm starts: a cluster of one node, with slurmctld, slurmd and munged on a network of its own. All of it runs in namespaces of its own and ends with them, however the test ends."""
import glob
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import launchers_test
from launchers_test import COLLCTL, MEETING, Cases, mpirun, run, sums

TOOLS = ("slurmctld", "slurmd", "munged", "srun", "sbatch", "scancel", "sinfo", "unshare", "mount", "ip", "hostname")
ADDRESS = "10.78.0.1"  # Slurm and Open MPI need more than the loopback device
NODE = "node0"
CONFIGURATION = """
ClusterName=libcoll
SlurmctldHost={node}({address})
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
DefMemPerCPU=1
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
NodeName={node} NodeAddr={address} CPUs=16 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes={node} Default=YES MaxTime=INFINITE State=UP
"""


def start_cluster(folder):
    """Starts the cluster in the namespaces. Raises unless the node becomes idle."""
    subprocess.run(["hostname", NODE], check=True)
    for words in ("link set lo up", "link add node type veth peer name other", f"address add {ADDRESS}/24 dev node",
                  "link set node up", "link set other up"):
        subprocess.run(["ip", *words.split()], check=True)
    hosts = os.path.join(folder, "hosts")
    with open(hosts, "w", encoding="ascii") as file:
        file.write(f"127.0.0.1 localhost\n{ADDRESS} {NODE}\n")
    subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)  # seen in this mount namespace only
    os.chmod(folder, 0o755)
    for name in ("state", "spool"):
        os.mkdir(os.path.join(folder, name))
    key = os.path.join(folder, "key")
    with open(key, "wb") as file:
        file.write(os.urandom(128))
    os.chmod(key, 0o400)
    subprocess.run(["munged", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket", f"--pid-file={folder}/munged.pid",
                    f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed"], check=True,
                   stderr=subprocess.DEVNULL)
    with open(os.path.join(folder, "slurm.conf"), "w", encoding="ascii") as file:
        file.write(CONFIGURATION.format(folder=folder, address=ADDRESS, node=NODE))
    version = subprocess.run(["slurmd", "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
    with open(os.path.join(folder, "cgroup.conf"), "w", encoding="ascii") as file:
        file.write("CgroupPlugin=disabled\n" if int(version.split(".")[0]) >= 23 else "CgroupAutomount=no\n")
    os.environ["SLURM_CONF"] = os.path.join(folder, "slurm.conf")
    subprocess.run(["slurmctld"], check=True)
    subprocess.run(["slurmd"], check=True)
    for _ in range(150):
        states = subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True, check=False)
        if states.stdout.strip() == "idle":
            return
        time.sleep(0.2)
    logs = "".join(open(name, encoding="utf-8", errors="replace").read()[-1500:] for name in glob.glob(f"{folder}/*.log"))
    raise RuntimeError(f"the node does not become idle: {states.stdout}{states.stderr}\n{logs}")


class Slurm(Cases, unittest.TestCase):
    """Steps without any PMI."""
    name, own_rank = "srun", "$SLURM_PROCID"
    kind = "none"

    def command(self, ranks, *program):
        return ["srun", f"--mpi={self.kind}", "--overcommit", "-n", str(ranks), *program]

    def test_a_batch_script_is_no_step(self):
        """It has SLURM_NTASKS=3, and is one process."""
        with tempfile.NamedTemporaryFile(suffix=".out") as out:
            done = run(["sbatch", "--wait", "-n", "3", "-o", out.name, "--wrap", f"{MEETING} create sum"])
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(out.name, encoding="ascii") as file:
                self.assertEqual(file.read().splitlines(), sums(1))

    def test_steps_of_a_batch_script(self):
        """Two steps at once, and launchers inside the job."""
        launchers = [f"srun --overlap -n 2 {MEETING} create pause 0.3 sum", f"srun --overlap -n 3 {MEETING} create pause 0.3 sum",
                     f"{COLLCTL} run -n 4 {MEETING} create sum"]
        expected = sums(2) + sums(3) + sums(4)
        for mpi, ranks in (("openmpi", 5), ("mpich", 6)):
            if shutil.which(mpirun.LAUNCHERS[mpi]):
                launchers.append(shlex.join(mpirun.command(mpi, mpirun.group(mpi, ranks, program=[MEETING, "create", "sum"]),
                                                           options=mpirun.binding(mpi, "none"))))
                expected += sums(ranks)
        script = " & ".join(launchers[:2]) + " & wait; " + "; ".join(launchers[2:])
        with tempfile.NamedTemporaryFile(suffix=".out") as out:
            run(["sbatch", "--wait", "-n", "6", "-o", out.name, "--wrap", script])
            with open(out.name, encoding="ascii") as file:
                lines = file.read().splitlines()
        self.assertEqual(sorted(line for line in lines if line.startswith(("rank", "error"))), sorted(expected), lines)

    def test_srun_inside_another_launcher(self):
        inner = " ".join(self.command(2, MEETING, "create", "sum"))
        done = run(launchers_test.OpenMpi().command(1, "sh", "-c", inner))
        self.assertEqual(sorted(line for line in done.stdout.splitlines() if line.startswith("rank")), sums(2), done.stderr)

    def test_a_step_that_is_cancelled(self):
        """Cancels while ranks wait for one that never comes: no process remains, and the next step meets."""
        job = subprocess.Popen(self.command(3, MEETING, "only", "1", "pause", "90", "create"), env=launchers_test.environment(),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        waiting = ["pgrep", "-f", f"^{MEETING}"]
        for _ in range(100):
            if len(subprocess.run(waiting, capture_output=True, check=False).stdout.split()) == 3:
                break
            time.sleep(0.1)
        subprocess.run(["scancel", "--me"], check=True)
        self.assertNotEqual(job.wait(timeout=60), 0)
        for _ in range(100):
            if subprocess.run(waiting, capture_output=True, check=False).stdout == b"":
                break
            time.sleep(0.1)
        self.assertEqual(subprocess.run(waiting, capture_output=True, check=False).stdout, b"")
        self.assertEqual(self.lines(3, MEETING, "create", "sum"), sums(3))

    def test_a_rank_that_is_killed_while_others_wait(self):
        script = f"case $SLURM_PROCID in 3) exec sleep 4;; 1) {MEETING} create & sleep 1; kill -KILL $!; exit 0;; *) exec {MEETING} try;; esac"
        self.expect_errors(self.lines(4, "sh", "-c", script), 2, "rank 1 of srun has ended before all ranks had come")


class WithPmi(unittest.TestCase):
    """The variables of the step come before those of PMI and PMIx; MPI programs use these besides."""
    lines = Cases.lines

    def expect_meeting(self, kind, mpi):
        types = subprocess.run(["srun", "--mpi=list"], capture_output=True, text=True, check=False)
        if kind not in (types.stdout + types.stderr).split():
            self.skipTest(f"this Slurm has no --mpi={kind}")
        self.command = lambda ranks, *program: ["srun", f"--mpi={kind}", "--overcommit", "-n", str(ranks), *program]
        self.assertEqual(self.lines(3, MEETING, "create", "sum", "create", "sum"), sorted(2 * sums(3)))
        program = os.environ.get(f"WITH_MPI_{mpi}")
        if program is None:
            self.skipTest(f"no shim for {mpi} is built")
        for shim in ("", os.environ[f"SHIM_{mpi}"]):
            for order in ("coll-first", "mpi-first"):
                lines = self.lines(3, *launchers_test.preload(shim), program, order)
                self.assertEqual(lines, [f"rank {rank} of 3: sums 3 3" for rank in range(3)], (shim, order))

    def test_pmix_with_open_mpi(self):
        self.expect_meeting("pmix", "OPENMPI")

    def test_pmi2_with_mpich(self):
        self.expect_meeting("pmi2", "MPICH")


def missing():
    """Returns why no cluster can run here; "" if it can."""
    if os.geteuid() != 0:
        return "daemons in namespaces with a network need root"
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    absent = [tool for tool in TOOLS if shutil.which(tool) is None]
    if absent:
        return f"not installed: {', '.join(absent)} (packages slurmctld, slurmd, slurm-client, munge, iproute2)"
    tried = subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "true"], capture_output=True, text=True, check=False)
    return f"no namespaces: {tried.stderr.strip()}" if tried.returncode != 0 else ""


def main():
    if sys.argv[1:2] == ["--inside"]:
        start_cluster(sys.argv[2])
        sys.exit(0 if unittest.main(argv=[sys.argv[0], *sys.argv[3:]], exit=False).result.wasSuccessful() else 1)
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="libcoll-slurm-") as folder:
        namespaces = ["--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc"]
        sys.exit(subprocess.run(["unshare", *namespaces, sys.executable, "-B", __file__, "--inside", folder, *sys.argv[1:]],
                                check=False).returncode)


if __name__ == "__main__":
    main()
