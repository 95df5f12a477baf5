# SPDX-License-Identifier: BSD-3-Clause
"""collctl run: output, exit statuses, signals, and that nothing outlives the job."""
import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time

from cli import COLLCTL, Case, collctl, main

EXAMPLES = os.environ["EXAMPLES"]


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # gone, before the file was opened or after
        return False


def await_true(condition, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


class Programs(Case):
    def test_the_example_runs_as_one_communicator(self):
        for example in ("example_allreduce", "example_allreduce_cc"):
            if not os.path.exists(f"{EXAMPLES}/{example}"):
                continue  # coll.hpp is not there yet
            out = self.run_fine("run", "-n", 4, "--tag", f"{EXAMPLES}/{example}")
            self.assertEqual(sorted(out.splitlines()),
                             [f"[{r}] rank {r} of 4: mine is {r + 1}, the average is 2.5" for r in range(4)])

    def test_without_collctl_it_is_the_only_rank(self):
        out = subprocess.run([f"{EXAMPLES}/example_allreduce"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(out, "rank 0 of 1: mine is 1, the average is 1\n")

    def test_the_answer_does_not_depend_on_the_number_of_ranks(self):
        answers = {self.run_fine("run", "-n", n, f"{EXAMPLES}/example_shortest_paths", 128) for n in (1, 2, 3, 5)}
        self.assertEqual(len(answers), 1)
        self.assertIn("of 128 cities", answers.pop())

    def test_ranks_with_different_settings_report_which(self):
        # The staging of zen5 begins at another offset than that of zen3, so that a rank may not look behind it.
        for name, one, other in (("COLL_CPU", "zen5", "zen3"), ("COLL_CHUNK", "4K", "8K")):
            done = collctl("run", "-n", 2, "sh", "-c", f"case $COLL_LAUNCH in 0/*) {name}={one};; *) {name}={other};; esac; "
                           f"export {name}; exec {EXAMPLES}/example_allreduce")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("has a different value of COLL_SENSITIVITY, COLL_THROTTLE, COLL_CHUNK, COLL_CPU", done.stderr)

    def test_a_limit_on_the_size_of_files_is_reported(self):
        done = collctl("run", "-n", 2, "true", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("cannot create the shared memory of the ranks: File too large; raise the limits", done.stderr)
        self.assertIn("ulimit -v, -n, -f", done.stderr)

    def test_a_time_limit_that_is_none_is_an_error_although_there_is_no_limit(self):
        done = collctl("run", "-n", 2, f"{EXAMPLES}/example_allreduce", env={"COLL_RENDEZVOUS_TIMEOUT": "-5"})
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("COLL_RENDEZVOUS_TIMEOUT='-5' is no number of seconds from 1 to 86400", done.stderr)

    def test_arguments_and_names_of_subcommands_go_to_the_program(self):
        self.assertEqual(self.run_fine("run", "-n", 1, "echo", "--help", "-n", "list"), "--help -n list\n")
        self.assertEqual(self.run_fine("run", "-n", 1, "--", "echo", "info"), "info\n")
        self.expect_error(127, "list", "run", "-n", 1, "list")

    def test_tagged_output_comes_in_whole_lines(self):
        out = self.run_fine("run", "-n", 3, "--tag", "sh", "-c", "for i in 1 2 3; do printf 'line '; echo $i; done; printf end")
        self.assertEqual(sorted(out.splitlines()),
                         sorted(f"[{r}] {t}" for r in range(3) for t in ("line 1", "line 2", "line 3", "end")))

    def test_output_that_cannot_be_written_is_reported(self):
        with open("/dev/full", "w") as full:
            for arguments in (["run", "-n", 2, "--tag", "echo", "text"], ["--version"], ["run", "--help"]):
                done = collctl(*arguments, stdout=full)
                self.assertEqual(done.returncode, 1, arguments)
                self.assertIn("written" if "--tag" in arguments else "cannot write to standard output", done.stderr)

    def test_tagged_errors_stay_errors(self):
        done = collctl("run", "-n", 1, "--tag", "sh", "-c", "echo out; echo err >&2")
        self.assertEqual((done.stdout, done.stderr), ("[0] out\n", "[0] err\n"))

    def test_only_rank_0_reads_standard_input(self):
        done = collctl("run", "-n", 2, "--tag", "cat", input="hello\n")
        self.assertEqual(done.stdout, "[0] hello\n")

    def test_ranks_get_a_processor_each_unless_bind_is_none(self):
        script = "import os; print(len(os.sched_getaffinity(0)))"
        processors = len(os.sched_getaffinity(0))
        if processors < 2:
            self.skipTest("one processor: there is nothing to bind")
        for bind, expected in (("core", 1), ("none", processors)):
            out = self.run_fine("run", "-n", 2, "--tag", "--bind", bind, "python3", "-c", script)
            self.assertEqual(sorted(out.splitlines()), [f"[0] {expected}", f"[1] {expected}"])


class Namespaces(Case):
    """Ranks in namespaces of their own, as in containers."""
    def expect_sum(self, *wrapper, ranks):
        program = f"{EXAMPLES}/example_allreduce"
        out = self.run_fine("run", "-n", ranks, *[word.replace("PROGRAM", program) for word in wrapper])
        mean = (ranks + 1) / 2
        self.assertEqual(sorted(out.splitlines()),
                         [f"rank {r} of {ranks}: mine is {r + 1}, the average is {mean:g}" for r in range(ranks)])

    def unshare(self, *options):
        """The command in front of a program; skips the test where it is refused."""
        command = ["unshare", *options]
        if shutil.which("unshare") is None:
            self.skipTest("unshare is not installed (package util-linux)")
        tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
        if tried.returncode != 0:
            self.skipTest(f"{' '.join(command)}: {tried.stderr.strip()}")
        return command

    def unshare_pids(self, *options):
        """The same for ranks that do not see each other's process numbers."""
        if "COLL_TEST_EMULATED" in os.environ:
            self.skipTest("qemu-user has no robust futexes, by which ranks notice ends in other pid namespaces")
        return self.unshare(*options)

    def test_of_users(self):
        for ranks in (2, 4):
            self.expect_sum(*self.unshare("-Ur"), "PROGRAM", ranks=ranks)

    def test_of_pids(self):
        self.expect_sum(*self.unshare_pids("-Urpf"), "PROGRAM", ranks=2)
        self.expect_sum(*self.unshare_pids("-Urpf", "--mount-proc"), "PROGRAM", ranks=4)

    def test_of_networks(self):
        self.expect_sum(*self.unshare_pids("-Urpfn"), "PROGRAM", ranks=2)

    def test_of_some_ranks(self):
        command = " ".join(self.unshare_pids("-Urpf"))
        for rank in (0, 1):
            self.expect_sum("sh", "-c", f"[ ${{COLL_LAUNCH%%/*}} = {rank} ] && exec {command} PROGRAM; exec PROGRAM", ranks=3)

    def test_of_all_ranks_together(self):
        """/proc lists processes of another pid namespace than that of the ranks."""
        # The leak detector cannot find threads there.
        environment = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
        inner = subprocess.run([*self.unshare("-Urpf"), COLLCTL, "run", "-n", "2", f"{EXAMPLES}/example_allreduce"],
                               capture_output=True, text=True, check=False, timeout=100, env=environment)
        self.assertEqual((inner.returncode, inner.stderr), (0, ""))


class Endings(Case):
    def script(self, text):
        return ["sh", "-c", "rank=${COLL_LAUNCH%%/*}; " + text]

    def test_the_first_bad_status_is_returned_and_the_others_are_ended(self):
        done = collctl("run", "-n", 4, *self.script("[ $rank = 2 ] && exit 7; exec sleep 600"))
        self.assertEqual(done.returncode, 7)
        self.assertEqual(done.stderr, "collctl run: rank 2 ended with exit status 7; ending the others\n")

    def test_a_signal_is_128_and_its_number(self):
        done = collctl("run", "-n", 2, *self.script("[ $rank = 1 ] && kill -SEGV $$; exec sleep 600"))
        self.assertEqual(done.returncode, 128 + signal.SIGSEGV)
        self.assertIn("rank 1 ended with signal 11 (Segmentation fault)", done.stderr)

    def test_a_rank_that_ignores_sigterm_is_killed_after_the_grace_time(self):
        with tempfile.TemporaryDirectory() as folder:
            ignores = f"trap '' TERM; touch {folder}/ignores; while :; do sleep 1; done"
            ends = f"while ! [ -e {folder}/ignores ]; do sleep 0.01; done; exit 3"
            done = collctl("run", "-n", 2, "--grace", 0.3, "--json", *self.script(f"[ $rank = 0 ] && {{ {ignores}; }}; {ends}"))
        self.assertEqual(done.returncode, 3)
        ends = json.loads(done.stderr.splitlines()[-1])
        self.assertEqual(ends["status"], 3)
        self.assertEqual(ends["ranks"][0]["signal"], signal.SIGKILL)
        self.assertEqual(ends["ranks"][1]["status"], 3)

    def test_a_rank_that_dies_in_a_collective_does_not_hang_the_others(self):
        done = collctl("run", "-n", 3, *self.script(f"[ $rank = 1 ] && kill -KILL $$; exec {EXAMPLES}/example_allreduce"))
        self.assertEqual(done.returncode, 128 + signal.SIGKILL)

    def start(self, folder, *program):
        """A job whose ranks and their children leave their numbers in `folder`."""
        job = subprocess.Popen([COLLCTL, "run", "-n", "2", "--grace", "1", *program], stderr=subprocess.PIPE, text=True)
        self.assertTrue(await_true(lambda: len(os.listdir(folder)) >= 2))
        return job, [int(name) for name in os.listdir(folder)]

    def test_signals_reach_the_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            job, pids = self.start(folder, "sh", "-c", f"trap 'exit 0' INT; : > {folder}/$$; while :; do sleep 0.1; done")
            job.send_signal(signal.SIGINT)
            job.communicate(timeout=30)
            self.assertEqual(job.returncode, 128 + signal.SIGINT)
            self.assertTrue(await_true(lambda: not any(map(lives, pids))))

    def test_nothing_is_left_when_collctl_is_killed(self):
        with tempfile.TemporaryDirectory() as folder:
            job, pids = self.start(folder, "sh", "-c", f": > {folder}/$$; exec sleep 300")
            job.kill()
            job.communicate(timeout=30)
            self.assertTrue(await_true(lambda: not any(map(lives, pids))), pids)

    def test_what_a_rank_leaves_behind_is_ended(self):
        with tempfile.TemporaryDirectory() as folder:
            script = f"sleep 300 & : > {folder}/$!"
            done = collctl("run", "-n", 2, "--grace", 1, "sh", "-c", script)
            self.assertEqual(done.returncode, 0, done.stderr)
            pids = [int(name) for name in os.listdir(folder)]
            self.assertEqual(len(pids), 2)
            self.assertTrue(await_true(lambda: not any(map(lives, pids))), pids)


class Meetings(Case):
    """Which processes may create a communicator as a rank, and ranks that wait for one that has ended fail."""

    meeting = f"{EXAMPLES}/tools_meeting"

    def lines(self, *program, status=0, ranks=2):
        done = collctl("run", "-n", ranks, *program, timeout=30)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return sorted(done.stdout.splitlines())

    def sums(self, ranks=2):
        return [f"rank {rank} of {ranks}: status 0, sum {ranks}" for rank in range(ranks)]

    def expect_errors(self, lines, count, *words):
        errors = [line for line in lines if line.startswith("error ")]
        self.assertEqual(len(errors), count, lines)
        for error in errors:
            for word in words:
                self.assertIn(word, error)

    def test_a_rank_that_ends_before_it_creates_a_communicator(self):
        lines = self.lines(self.meeting, "only", 1, "end", "try", ranks=3)
        self.expect_errors(lines, 2, "rank 1 of collctl run has ended", "equally often")

    def test_a_rank_that_ends_before_another_communicator(self):
        lines = self.lines(self.meeting, "create", "sum", "only", 0, "end", "try", ranks=3)
        self.assertEqual([line for line in lines if line.startswith("rank")], self.sums(3))
        self.expect_errors(lines, 2, "rank 0 of collctl run has ended")

    def test_a_rank_that_ends_when_it_has_all_its_communicators(self):
        lines = self.lines(self.meeting, "create", "sum", "only", 1, "end", "only", 0, "start", "sleep 0.7", "free")
        self.assertEqual(lines, self.sums() + ["started: 0"])

    def test_a_process_that_a_rank_leaves_behind_may_still_come(self):
        script = f"[ ${{COLL_LAUNCH%%/*}} = 0 ] && {{ (sleep 0.7; {self.meeting} create sum) & exit 0; }}; {self.meeting} create sum"
        # The job ends with the process that was started as rank 1, which may be before the other one prints.
        self.assertIn(self.sums()[1], self.lines("sh", "-c", script))

    def test_a_rank_with_a_communicator_starts_a_program(self):
        for inner in (f"{self.meeting} create", f"sh -c '{self.meeting} create; exit $?'"):
            lines = self.lines(self.meeting, "create", "only", 0, "start", inner, "sum")
            self.expect_errors(lines, 1, "rank 0 of collctl run is another process (", "unset COLL_LAUNCH")
            self.assertEqual(lines[1:], self.sums() + ["started: 3"])

    def test_a_rank_with_a_communicator_starts_programs_that_may_run(self):
        for inner in (f"{COLLCTL} run -n 2 {self.meeting} create sum", f"env -u COLL_LAUNCH {EXAMPLES}/example_allreduce"):
            lines = self.lines(self.meeting, "create", "only", 0, "start", inner, "sum")
            self.assertIn("started: 0", lines)
            self.assertEqual([line for line in lines if line in self.sums()][-1], self.sums()[-1])

    def test_a_child_of_a_rank_with_a_communicator(self):
        lines = self.lines(self.meeting, "create", "fork", "try")
        self.expect_errors(lines, 2, "is another process (")

    def test_processes_that_are_a_rank_in_turn(self):
        program = f"{self.meeting} create sum"
        for wrapper in (["sh", "-c", f"{program}; {program}"],
                        [self.meeting, "create", "sum", "free", "start", program],
                        [self.meeting, "start", program, "create", "sum"],
                        [self.meeting, "create", "sum", "exec", self.meeting],
                        [self.meeting, "create", "sum", "free", "create", "sum"],
                        [self.meeting, "create", "sum", "create", "sum"]):
            lines = [line for line in self.lines(*wrapper) if line != "started: 0"]
            self.assertEqual(lines, sorted(2 * self.sums()), wrapper)

    def test_wrappers_that_start_the_program(self):
        program = [self.meeting, "create", "sum"]
        for wrapper in (["env"], ["timeout", "20"], ["sh", "-c", '"$@" & wait', "sh"], [self.meeting, "fork", "create", "sum"]):
            self.assertEqual(self.lines(*wrapper, *(program if wrapper[0] != self.meeting else [])), self.sums(), wrapper)

    def test_a_wrapper_that_closes_the_descriptor(self):
        closes = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
        lines = self.lines("python3", "-c", closes, self.meeting, "try")
        self.expect_errors(lines, 2, "which collctl run passes to its ranks, is closed", "keep it open")

    def test_a_descriptor_that_is_another_file(self):
        script = f'number=${{COLL_LAUNCH##*/}}; eval "exec $number<>/dev/null"; exec {self.meeting} try'
        lines = self.lines("bash", "-c", script)
        self.expect_errors(lines, 2, "COLL_LAUNCH does not match")


class WrongArguments(Case):
    def test_each_is_one_line(self):
        self.expect_error(2, ["no program", "collctl run -n 4"], "run", "-n", 2)
        self.expect_error(2, "--ranks", "run", "true")
        self.expect_error(2, "--ranks", "run", "-n", 0, "true")
        self.expect_error(2, "--bind", "run", "-n", 1, "--bind", "moon", "true")
        self.expect_error(2, "--tga", "run", "-n", 1, "--tga", "true")
        self.expect_error(127, "./program", "run", "-n", 3, "./no-such-program")
        self.expect_error(126, "cannot start /etc", "run", "-n", 1, "/etc")


class Mpi(Case):
    """--mpi, with programs that replace the launchers and print their arguments."""

    def launched(self, library, *arguments, names=None, version, env=None):
        with tempfile.TemporaryDirectory() as folder:
            for name in names or [{"openmpi": "mpirun.openmpi", "mpich": "mpiexec.mpich"}[library]]:
                with open(f"{folder}/{name}", "w") as file:
                    file.write(f"""#!/bin/sh
if [ "$1" = --version ]; then echo '{version}'; else printf '%s\\n' "$@"; fi
""")
                os.chmod(f"{folder}/{name}", 0o755)
            done = collctl("run", "--mpi", library, *arguments, env={"PATH": f"{folder}:/usr/bin:/bin", **(env or {})})
            return done.returncode, done.stdout.splitlines(), done.stderr

    def shim(self, library):
        path = os.path.normpath(f"{os.path.dirname(COLLCTL)}/../lib/mpi/libcoll_mpi_{library}.so")
        if not os.path.exists(path):
            self.skipTest(f"the shim for {library} is not built")
        return path

    def test_open_mpi_gets_the_shim_and_the_program(self):
        shim = self.shim("openmpi")
        status, words, _ = self.launched("openmpi", "-n", 1, "./program", "-n", "7", version="mpirun (Open MPI) 4.1.4")
        self.assertEqual((status, words), (0, ["-n", "1", "-x", f"LD_PRELOAD={shim}", "./program", "-n", "7"]))

    def test_more_ranks_than_cores_are_allowed(self):
        shim = self.shim("openmpi")
        status, words, _ = self.launched("openmpi", "-n", 4096, "./program", version="mpirun (Open MPI) 6.0.0")
        self.assertEqual((status, words), (0, ["-n", "4096", "-x", f"LD_PRELOAD={shim}", "--map-by", ":OVERSUBSCRIBE",
                                               "./program"]))

    def test_mpich_keeps_other_preloaded_libraries(self):
        shim = self.shim("mpich")
        # A sanitizer's runtime must come before any other library.
        others = " ".join(filter(None, [os.environ.get("COLL_SANITIZER_RUNTIME"), "libc.so.6"]))
        status, words, _ = self.launched("mpich", "-n", 2, "--tag", "--bind", "none", "./program", version="HYDRA build details:",
                                         env={"LD_PRELOAD": others})
        self.assertEqual(status, 0)
        self.assertEqual(words, ["-n", "2", "-genv", "LD_PRELOAD", f"{shim}:{others}", "-bind-to", "none",
                                 "-prepend-rank", "./program"])

    def test_a_launcher_of_another_library_is_not_used(self):
        self.shim("openmpi")
        status, _, error = self.launched("openmpi", "-n", 2, "./program", names=["mpirun.openmpi", "mpirun"],
                                         version="HYDRA build details:")
        self.assertEqual(status, 1)
        self.assertIn("no launcher of this MPI library is in PATH", error)

    def test_bad_arguments_are_usage_errors(self):
        self.expect_error(2, ["--mpi", "'lam'", "openmpi or mpich"], "run", "--mpi", "lam", "-n", 2, "./program")
        self.expect_error(2, ["--json", "--mpi"], "run", "--mpi", "mpich", "-n", 2, "--json", "./program")
        self.expect_error(2, "no program is named", "run", "--mpi", "mpich", "-n", 2)


if __name__ == "__main__":
    main()
