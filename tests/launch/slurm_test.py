# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that Slurm starts: a cluster of one node, with slurmctld, slurmd and munged on a network of its own. All of it runs in namespaces of its own and ends with them, however the test ends."""
import functools
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

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "containers"))
import ranks as containers

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


class Ends:
    """Steps that Slurm ends."""
    def expect_no_process_after(self, cancel, *program):
        """Cancels while ranks wait for one that never comes: no process remains, and the next step meets."""
        job = subprocess.Popen(self.command(3, MEETING, *program), env=launchers_test.environment(),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def await_processes(count):
            found = None
            for _ in range(300):
                found = subprocess.run(["pgrep", "-f", f"^{MEETING}"], capture_output=True, check=False).stdout.split()
                if len(found) == count:
                    return
                time.sleep(0.1)
            self.assertEqual(len(found), count)

        await_processes(3)
        time.sleep(1)  # they call the last function
        subprocess.run(cancel, check=True)
        self.assertNotEqual(job.wait(timeout=60), 0)
        await_processes(0)
        self.assertEqual(self.lines(3, MEETING, "create", "sum"), sums(3))

    def test_a_step_that_is_cancelled(self):
        self.expect_no_process_after(["scancel", "--me"], "only", "1", "pause", "90", "create")

    def test_a_step_that_is_killed(self):
        """In a collective, too: rank 1 does not take part in it."""
        for program in (["only", "1", "pause", "90", "create"], ["create", "sum", "only", "1", "pause", "90", "sum"]):
            self.expect_no_process_after(["scancel", "--signal=KILL", "--me"], *program)


class Slurm(Ends, Cases, unittest.TestCase):
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

    def test_mpi_programs_without_pmi(self):
        """The MPI library has no ranks then, or refuses it: the same with the shim."""
        for mpi in mpirun.LAUNCHERS:
            if containers.with_mpi(mpi) is None:
                continue
            program, shim = containers.with_mpi(mpi)
            plain, preloaded = (run(self.command(2, *launchers_test.preload(library), program, "coll-first"), COLL_LOG="info")
                                for library in ("", shim))
            self.assertEqual(containers.lines(plain), containers.lines(preloaded), (plain.stderr, preloaded.stderr))
            self.assertEqual(plain.returncode == 0, preloaded.returncode == 0, (plain.stderr, preloaded.stderr))
            if preloaded.returncode == 0:
                self.assertIn("shim for ", preloaded.stderr)
            self.assertIsNone(containers.single_copies_of_world(preloaded), preloaded.stderr)

    def test_a_rank_that_is_killed_while_others_wait(self):
        script = f"case $SLURM_PROCID in 3) exec sleep 4;; 1) {MEETING} create & sleep 1; kill -KILL $!; exit 0;; *) exec {MEETING} try;; esac"
        self.expect_errors(self.lines(4, "sh", "-c", script), 2, "rank 1 of srun has ended before all ranks had come")


class WithPmi(Ends):
    """The variables of the step come before those of PMI and PMIx; MPI programs use these besides."""
    lines = Cases.lines
    kind, mpi = "", ""

    def setUp(self):
        types = subprocess.run(["srun", "--mpi=list"], capture_output=True, text=True, check=False)
        if self.kind not in (types.stdout + types.stderr).split():
            self.skipTest(f"this Slurm has no --mpi={self.kind}")

    def command(self, ranks, *program):
        return ["srun", f"--mpi={self.kind}", "--overcommit", "-n", str(ranks), *program]

    def program(self):
        """Returns the MPI program and the shim."""
        found = containers.with_mpi(self.mpi)
        if found is None:
            self.skipTest(f"no shim for {self.mpi} is built")
        return found

    def expect_shim(self, done, ranks):
        """The shim serves the ranks. Returns whether they can copy by CMA."""
        self.assertEqual(containers.lines(done), containers.mpi_sums(ranks), done)
        are_single = containers.single_copies_of_world(done)
        self.assertIsNotNone(are_single, done.stderr)
        return are_single

    def test_ranks_meet(self):
        self.assertEqual(self.lines(3, MEETING, "create", "sum", "create", "sum"), sorted(2 * sums(3)))

    def test_mpi_works_before_and_after(self):
        program, shim = self.program()
        for preloaded in ("", shim):
            for order in ("coll-first", "mpi-first"):
                lines = self.lines(3, *launchers_test.preload(preloaded), program, order)
                self.assertEqual(lines, containers.mpi_sums(3), (preloaded, order))

    def test_the_shim_serves_the_ranks(self):
        program, shim = self.program()
        done = run(self.command(3, *launchers_test.preload(shim), program, "mpi-first"), COLL_LOG="info")
        self.assertEqual(self.expect_shim(done, 3), containers.on_host())

    def test_two_jobs_with_the_shim_at_once(self):
        program, shim = self.program()
        environment = launchers_test.environment(LD_PRELOAD=shim)
        jobs = [subprocess.Popen([*self.command(ranks, program, "mpi-first")], stdout=subprocess.PIPE, text=True, env=environment)
                for ranks in (2, 3)]
        for job, ranks in zip(jobs, (2, 3)):
            self.assertEqual(sorted(job.communicate(timeout=100)[0].splitlines()), containers.mpi_sums(ranks))

    def test_one_container_for_each_rank(self):
        """With a user namespace of its own each: the shim serves the ranks, and their data are staged."""
        program, shim = self.program()
        for name, container in user_namespaces():
            with self.subTest(container=name):
                done = run(self.command(2, *container, "env", f"LD_PRELOAD={shim}", program, "mpi-first"), COLL_LOG="info",
                           UCX_POSIX_USE_PROC_LINK="n")
                self.assertFalse(self.expect_shim(done, 2))


class Pmix(WithPmi, unittest.TestCase):
    """Open MPI."""
    kind, mpi = "pmix", "openmpi"


class Pmi2(WithPmi, unittest.TestCase):
    """MPICH."""
    kind, mpi = "pmi2", "mpich"


class Mpirun(unittest.TestCase):
    """The launchers of the MPI libraries inside a job, where Slurm has no plugin for the library."""
    def test_the_shim(self):
        for mpi in mpirun.LAUNCHERS:
            if containers.with_mpi(mpi) is None or shutil.which(mpirun.LAUNCHERS[mpi]) is None:
                continue
            program, shim = containers.with_mpi(mpi)
            group = mpirun.group(mpi, 3, {"LD_PRELOAD": shim, "COLL_LOG": "info"}, [program, "mpi-first"])
            command = shlex.join(mpirun.command(mpi, group, options=mpirun.binding(mpi, "none")))
            with self.subTest(mpi=mpi), tempfile.NamedTemporaryFile(suffix=".out") as out:
                run(["sbatch", "--wait", "-n", "3", "-o", out.name, "--wrap", command])
                with open(out.name, encoding="ascii") as file:
                    text = file.read()
                self.assertEqual(sorted(line for line in text.splitlines() if line.startswith("rank")), containers.mpi_sums(3), text)
                self.assertRegex(text, "communicator MPI_COMM_WORLD of 3 ranks")


class Containers(unittest.TestCase):
    """One container for each rank of a step, and one for all."""
    command = staticmethod(lambda ranks, *program: ["srun", "--mpi=none", "--overcommit", "-n", str(ranks), *program])

    def test_one_for_each_rank(self):
        for name, container in [*user_namespaces(), *isolated()]:
            with self.subTest(container=name):
                done = run(self.command(3, *container, MEETING, "create", "sum", "create", "sum"))
                self.assertEqual(containers.lines(done), sorted(2 * sums(3)), done.stderr)
                self.assertFalse(containers.single_copies(self.command, *container))

    def test_shared_namespaces(self):
        """--sharens of apptainer: the ranks of a node share one container."""
        if not apptainer_works("--sharens"):
            self.skipTest("apptainer is not installed (package apptainer, in Debian unstable), or runs no such container here")
        container = containers.apptainer(IMAGE, "--userns", "--sharens")
        done = run(self.command(3, *container, MEETING, "create", "sum"))
        self.assertEqual(containers.lines(done), sums(3), done.stderr)
        self.assertEqual(containers.single_copies(self.command, *container), containers.on_host())

    def test_one_for_all_ranks(self):
        for name, container in [*user_namespaces(), *isolated()]:
            with self.subTest(container=name):
                done = run(self.command(1, *container, COLLCTL, "run", "-n", "3", MEETING, "create", "sum"))
                self.assertEqual(containers.lines(done), sums(3), done.stderr)


IMAGE = ""  # of apptainer; set below


@functools.cache  # each try starts a container
def apptainer_works(*options):
    return shutil.which("apptainer") is not None and subprocess.run(
        [*containers.apptainer(IMAGE, "--userns", *options), "true"], capture_output=True, check=False,
        env=launchers_test.environment()).returncode == 0


def user_namespaces():
    """Returns the containers with user and mount namespaces that can run here, with their names."""
    found = [("unshare", ["unshare", "-Urm"])]
    return found + ([("apptainer", containers.apptainer(IMAGE, "--userns"))] if apptainer_works() else [])


def isolated():
    """The same, with pid and IPC namespaces."""
    found = [("unshare with pid", ["unshare", "-Urpfmi", "--mount-proc"])]
    options = ["--pid", "--ipc"]
    return found + ([("apptainer with pid", containers.apptainer(IMAGE, "--userns", *options))] if apptainer_works(*options) else [])


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
    global IMAGE
    if sys.argv[1:2] == ["--inside"]:
        start_cluster(sys.argv[2])
        IMAGE = containers.make_image(tempfile.mkdtemp(dir=sys.argv[2]))
        result = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], exit=False, verbosity=2).result
        sys.exit(0 if result.wasSuccessful() else 1)
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
