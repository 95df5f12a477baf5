# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that real launchers start: they meet, or report why they do not. Each launcher runs the same cases."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "mpi"))
import mpirun

COLLCTL, MEETING = os.environ["COLLCTL"], os.environ["MEETING"]
FOREIGN = re.compile(r"^(COLL_|PMIX?_|OMPI_COMM|SLURM_(?!CONF$)|FLUX_|PALS_|MASTER_|RANK$|WORLD_SIZE$|LOCAL_WORLD_SIZE$|TORCHELASTIC)")
# Standard input of all launchers: mpiexec of MPICH 5.0 often ends with SIGPIPE if that is at its end.
# No process writes to it.
STDIN, NO_WRITER = os.pipe()


def environment(**more):
    """Returns the environment of this process without the variables of a launcher that runs the test."""
    clean = {name: value for name, value in mpirun.environment().items() if not FOREIGN.match(name)}
    return {**clean, "OMPI_MCA_btl": "self,vader", "COLL_RENDEZVOUS_TIMEOUT": "60", **more}


def run(command, timeout=100, **more):
    return subprocess.run(command, stdin=STDIN, capture_output=True, text=True, check=False, timeout=timeout, env=environment(**more))


def sums(ranks):
    return [f"rank {rank} of {ranks}: status 0, sum {ranks}" for rank in range(ranks)]


def preload(shim=""):
    """Returns the command that starts a program with the shim, or one that opens libcoll. A sanitizer's runtime comes first, because
    the program itself was not built with it, and does not look for leaks: MPI's plug-ins and Python leave some."""
    options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    libraries = " ".join(filter(None, (os.environ.get("COLL_SANITIZER_RUNTIME"), shim)))
    return ["env", f"ASAN_OPTIONS={options}", f"LD_PRELOAD={libraries}"]


class Cases:
    """The cases for every launcher. A subclass defines how it starts ranks."""
    name = ""  # name of the launcher in messages

    def command(self, ranks, *program):
        raise NotImplementedError

    def lines(self, ranks, *program, status=0, **more):
        done = run(self.command(ranks, *program), **more)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return sorted(line for line in done.stdout.splitlines() if line.startswith(("rank", "error", "started")))

    def expect_errors(self, lines, count, *words):
        errors = [line for line in lines if line.startswith("error ")]
        self.assertEqual(len(errors), count, lines)
        for error in errors:
            for word in words:
                self.assertIn(word, error)

    def test_ranks_meet(self):
        for ranks in (1, 2, 5):
            self.assertEqual(self.lines(ranks, MEETING, "create", "sum"), sums(ranks))

    def test_ranks_meet_again(self):
        for words in (["create", "sum", "create", "sum"], ["create", "sum", "free", "create", "sum"],
                      ["create", "sum", "exec", MEETING]):
            self.assertEqual(self.lines(3, MEETING, *words), sorted(2 * sums(3)), words)

    def test_processes_that_are_a_rank_in_turn(self):
        program = f"{MEETING} create sum"
        self.assertEqual(self.lines(3, "sh", "-c", f"{program}; {program}"), sorted(2 * sums(3)))

    def test_a_rank_with_a_communicator_starts_a_program(self):
        for inner in (f"{MEETING} create", f"sh -c '{MEETING} create; exit $?'"):
            lines = self.lines(2, MEETING, "create", "only", "0", "start", inner, "sum")
            self.expect_errors(lines, 1, f"rank 0 of {self.name} is another process (", "collctl run")
            self.assertEqual(lines[1:], sums(2) + ["started: 3"])

    def test_a_rank_with_a_communicator_starts_collctl_run(self):
        lines = self.lines(2, MEETING, "create", "only", "0", "start", f"{COLLCTL} run -n 3 {MEETING} create sum", "sum")
        self.assertEqual(lines, sorted(sums(2) + sums(3) + ["started: 0"]))

    def test_a_child_of_a_rank_with_a_communicator(self):
        lines = self.lines(2, MEETING, "create", "fork", "try")
        self.expect_errors(lines, 2, "is another process (")

    def test_a_rank_that_never_comes_is_named(self):
        for absent in self.absent_ranks:
            lines = self.lines(4, MEETING, "only", str(absent), "end", "try", COLL_RENDEZVOUS_TIMEOUT="3")
            self.expect_errors(lines, 3, f"rank {absent} of {self.name} has not come within 3 s", self.meets_at)

    def test_python(self):
        code = ("import array, coll, os; comm = coll.Communicator.from_launcher(); total = comm.allreduce(array.array('q', [1])); "
                "os.write(1, f'rank {comm.rank} of {comm.size}: status 0, sum {total[0]}\\n'.encode())")
        # environment() takes all variables of libcoll away.
        self.assertEqual(self.lines(3, *preload(), sys.executable, "-B", "-c", code, COLL_LIBRARY=os.environ["LIBRARY"],
                                    PYTHONPATH=os.environ["MODULE"]), sums(3))

    def test_two_jobs_at_once(self):
        program = [MEETING, "create", "sum", "create", "pause", "0.3", "sum"]
        jobs = [subprocess.Popen(self.command(ranks, *program), stdin=STDIN, stdout=subprocess.PIPE, text=True, env=environment())
                for ranks in (2, 3)]
        for job, ranks in zip(jobs, (2, 3)):
            lines = sorted(line for line in job.communicate(timeout=100)[0].splitlines() if line.startswith("rank"))
            self.assertEqual(lines, sorted(2 * sums(ranks)))

    def test_inside_collctl_run(self):
        program = self.command(2, MEETING, "create", "sum")
        done = run([COLLCTL, "run", "-n", "1", *program])
        self.assertEqual(sorted(line for line in done.stdout.splitlines() if line.startswith("rank")), sums(2), done.stderr)

    def test_collctl_run_inside(self):
        lines = self.lines(1, COLLCTL, "run", "-n", "3", MEETING, "create", "sum")
        self.assertEqual(lines, sums(3))

    def test_doctor(self):
        done = run(self.command(3, COLLCTL, "doctor", "--json"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = {check["check"]: check for check in json.loads(done.stdout[done.stdout.index("{"):])["checks"]}
        self.assertEqual(found["launcher"]["state"], "fine")
        self.assertEqual(found["launcher"]["found"], f"{self.name} has started 3 ranks, and they meet")

    def test_doctor_alone(self):
        """The other ranks run another program. A file gets the output, because prterun may end before it prints that of a failed rank."""
        with tempfile.NamedTemporaryFile() as out:
            done = run(self.command(2, "sh", "-c", f"[ {self.own_rank} = 1 ] && exit 0; exec {COLLCTL} doctor --json >{out.name}"),
                       COLL_RENDEZVOUS_TIMEOUT="1")
            self.assertNotEqual(done.returncode, 0, done)
            self.assertIn("rank 1 of", out.read().decode(), done)

    own_rank = "$PMIX_RANK"
    absent_ranks = (2,)  # each costs the time limit
    meets_at = "COLL_RENDEZVOUS_DIR, here /dev/shm"


class WithMpi:
    """For launchers that start programs of an MPI library: MPI works, too, with the shim and without it."""
    mpi = ""

    def test_mpi_works_before_and_after(self):
        program = os.environ.get(f"WITH_MPI_{self.mpi}")
        if program is None:
            self.skipTest(f"no shim for {self.mpi} is built")
        for shim in ("", os.environ[f"SHIM_{self.mpi}"]):
            for order in ("coll-first", "mpi-first"):
                lines = self.lines(3, *preload(shim), program, order)
                self.assertEqual(lines, [f"rank {rank} of 3: sums 3 3" for rank in range(3)], (shim, order))


class OpenMpi(Cases, WithMpi, unittest.TestCase):
    name, mpi = "mpirun of Open MPI", "OPENMPI"

    def command(self, ranks, *program):
        if shutil.which("mpirun.openmpi") is None:
            self.skipTest("mpirun.openmpi is not installed (package openmpi-bin)")
        return mpirun.command("openmpi", mpirun.group("openmpi", ranks, program=program), options=mpirun.binding("openmpi", "none"))


class Mpich(Cases, WithMpi, unittest.TestCase):
    name, mpi, own_rank = "mpiexec (PMI)", "MPICH", "$PMI_RANK"

    def command(self, ranks, *program):
        if shutil.which("mpirun.mpich") is None:
            self.skipTest("mpirun.mpich is not installed (package mpich)")
        return mpirun.command("mpich", mpirun.group("mpich", ranks, program=program))

    def test_the_shim_inside_mpirun_of_open_mpi(self):
        """The variables of the outer launcher are those of another job."""
        if "SHIM_MPICH" not in os.environ:
            self.skipTest("no shim for MPICH is built")
        inner = self.command(2, *preload(os.environ["SHIM_MPICH"]), os.environ["WITH_MPI_MPICH"], "mpi-first")
        # Hydra may end if its standard input does, and fails if that brings more than is read: it
        # gets a pipe without data that stays open.
        with tempfile.TemporaryDirectory() as directory:
            os.mkfifo(directory + "/quiet")
            done = run(OpenMpi().command(2, "sh", "-c", '"$@" 0<>' + directory + "/quiet", "sh", *inner),
                       COLL_LOG="info")
        self.assertEqual(done.stderr.count("libcoll: communicator MPI_COMM_WORLD of 2 ranks"), 2, done)


class Prterun(Cases, WithMpi, unittest.TestCase):
    """Sets no variable with the number of ranks: libpmix returns it. It starts programs of Open MPI, too."""
    name, mpi = "a launcher with PMIx", "OPENMPI"

    def command(self, ranks, *program):
        if shutil.which("prterun") is None:
            self.skipTest("prterun is not installed (package openmpi-bin of Debian 13, libprrte-bin of unstable)")
        return ["prterun", "--map-by", ":oversubscribe", "-n", str(ranks), *program]

    def test_a_rank_that_never_comes_is_named(self):
        """Or prterun ends the job itself: once ranks have connected to it, one that ends without connecting is a failure."""
        done = run(self.command(4, MEETING, "only", "2", "end", "try"), COLL_RENDEZVOUS_TIMEOUT="3")
        if done.returncode != 0:
            self.assertIn("process rank 2", done.stdout + done.stderr)
        else:
            self.assertEqual(done.stdout.count(f"error rank 2 of {self.name} has not come within 3 s"), 3, done)


class Script(Cases, unittest.TestCase):
    """A launcher that libcoll does not know: a shell that sets COLL_RANK."""
    name, own_rank = "the script that sets COLL_RANK", "$COLL_RANK"
    job = "COLL_RENDEZVOUS=job-$$"
    absent_ranks = (0, 2)

    def command(self, ranks, *program):
        script = (f'export COLL_SIZE={ranks} {self.job}; rank=0; pids=; while [ $rank -lt {ranks} ]; do '
                  'COLL_RANK=$rank "$@" & pids="$pids $!"; rank=$((rank + 1)); done; '
                  'status=0; for pid in $pids; do wait $pid || status=$?; done; exit $status')
        return ["sh", "-c", script, "sh", *program]

    def test_a_second_thread_is_refused(self):
        lines = self.lines(2, MEETING, "only", "0", "thread", "only", "0", "try")
        self.assertEqual(lines, ["error another thread of this process is in coll_comm_create_from_launcher(); let one thread at a time "
                                 "call it"])


class ScriptWithAFile(Script):
    """The same, meeting at a file."""
    job = "COLL_RENDEZVOUS=${TMPDIR:-/tmp}/libcoll-test-$$"
    meets_at = "/libcoll-test-"

    def test_a_file_that_a_killed_rank_has_left(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "socket")
            left = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1])"
            subprocess.run([sys.executable, "-c", left, path], check=True)
            ranks = [subprocess.Popen([MEETING, "create", "sum"], stdout=subprocess.PIPE, text=True,
                                      env=environment(COLL_RANK=str(rank), COLL_SIZE="2", COLL_RENDEZVOUS=path))
                     for rank in range(2)]
            self.assertEqual([rank.communicate(timeout=60)[0].strip() for rank in ranks], sums(2))
            self.assertEqual(os.listdir(folder), [])

    def test_a_file_that_is_no_socket_stays(self):
        with tempfile.NamedTemporaryFile() as file:
            done = run([MEETING, "try"], COLL_RANK="0", COLL_SIZE="2", COLL_RENDEZVOUS=file.name)
            self.assertIn(f"COLL_RENDEZVOUS={file.name}: Address already in use", done.stdout)
            self.assertTrue(os.path.exists(file.name))

    def test_a_rank_0_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("another user needs root")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "socket")
            stranger = ("import os, socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o777)\n"
                        "os.setuid(65534); s.listen(); print('ready', flush=True); sys.stdin.read()")
            other = subprocess.Popen([sys.executable, "-c", stranger, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.assertEqual(other.stdout.readline(), "ready\n")
            done = run([MEETING, "try"], COLL_RANK="1", COLL_SIZE="2", COLL_RENDEZVOUS=path, COLL_RENDEZVOUS_TIMEOUT="1")
            other.communicate("")
            self.assertIn("a process of user 65534 is in its place, and this rank runs as user 0", done.stdout)

    def test_a_directory_that_is_not_there(self):
        done = run([MEETING, "try"], COLL_RANK="0", COLL_SIZE="2", COLL_RENDEZVOUS="/nowhere/socket")
        self.assertIn("COLL_RENDEZVOUS=/nowhere/socket: No such file", done.stdout)


class Torchrun(Cases, unittest.TestCase):
    """The variables as torchrun sets them; torchrun itself needs PyTorch and is not run."""
    name, own_rank = "torchrun", "$RANK"

    def command(self, ranks, *program):
        script = (f'export WORLD_SIZE={ranks} LOCAL_WORLD_SIZE={ranks} MASTER_ADDR=localhost MASTER_PORT=$$ '
                  'TORCHELASTIC_RUN_ID=none TORCHELASTIC_RESTART_COUNT=0; rank=0; pids=; '
                  f'while [ $rank -lt {ranks} ]; do RANK=$rank LOCAL_RANK=$rank "$@" & pids="$pids $!"; rank=$((rank + 1)); '
                  'done; status=0; for pid in $pids; do wait $pid || status=$?; done; exit $status')
        return ["sh", "-c", script, "sh", *program]


class Incomplete(unittest.TestCase):
    """Ranks that cannot find each other are an error, and never communicators of one rank."""
    def test_a_wrapper_that_closes_the_socket_of_pmi(self):
        done = run(Mpich().command(2, "bash", "-c", f"exec {{PMI_FD}}>&-; exec {MEETING} try"))  # sh closes 0 to 9 only
        self.assertEqual(done.stdout.count("which PMI_FD names and the launcher passes to its ranks, is closed"), 2, done)

    def test_a_port_of_pmi(self):
        """Sets PMI_ID and PMI_PORT, but no PMI_SIZE."""
        _, *arguments = Mpich().command(2, MEETING, "try")
        done = run([mpirun.LAUNCHERS["mpich"], "-pmi-port", *arguments])
        self.assertEqual(done.stdout.count("PMI_PORT and PMI_ID say that this is rank"), 2, done)

    def test_nothing_but_rank_and_size(self):
        done = run([MEETING, "try"], RANK="1", WORLD_SIZE="4")
        self.assertIn("error RANK and WORLD_SIZE say that this is rank 1 of 4, but MASTER_PORT is not set", done.stdout)

    def test_few_descriptors(self):
        """Rank 0 tells the others before it gives up: they do not wait for it until the time limit."""
        for limit in (6, 8):
            script = f"[ $COLL_RANK = 0 ] && ulimit -n {limit}; exec {MEETING} try"
            done = run(Script().command(6, "sh", "-c", script), COLL_RENDEZVOUS_TIMEOUT="60", timeout=40)
            self.assertEqual(done.stdout.count("error rank 0 of the script that sets COLL_RANK needs one descriptor for each other rank "
                                               "while they meet: Too many open files; raise the limit"), 6, done)

    def test_many_ranks(self):
        """More ranks than the usual queue of a listening socket holds."""
        lines = run(Script().command(160, MEETING, "create", "free", "end"), COLL_RENDEZVOUS_TIMEOUT="100", timeout=120)
        self.assertEqual((lines.returncode, lines.stdout), (0, ""), lines.stderr)

    def test_a_time_limit_that_is_none(self):
        done = run([MEETING, "try"], COLL_RANK="1", COLL_SIZE="4", COLL_RENDEZVOUS="x", COLL_RENDEZVOUS_TIMEOUT="soon")
        self.assertIn("COLL_RENDEZVOUS_TIMEOUT='soon' is no number of seconds", done.stdout)


def exit_status(result):
    """Returns 77, with the reason, if all tests were skipped."""
    if not result.wasSuccessful():
        return 1
    if len(result.skipped) < result.testsRun:
        return 0
    print(f"skipped: {result.skipped[0][1] if result.skipped else 'no test'}")
    return 77


if __name__ == "__main__":
    sys.exit(exit_status(unittest.main(exit=False).result))
