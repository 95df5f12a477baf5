# SPDX-License-Identifier: BSD-3-Clause
"""collctl run: output, exit statuses, signals, and that nothing outlives the job."""
import json
import os
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

    def test_arguments_and_names_of_subcommands_go_to_the_program(self):
        self.assertEqual(self.run_fine("run", "-n", 1, "echo", "--help", "-n", "list"), "--help -n list\n")
        self.assertEqual(self.run_fine("run", "-n", 1, "--", "echo", "info"), "info\n")
        self.expect_error(127, "list", "run", "-n", 1, "list")

    def test_tagged_output_comes_in_whole_lines(self):
        out = self.run_fine("run", "-n", 3, "--tag", "sh", "-c", "for i in 1 2 3; do printf 'line '; echo $i; done; printf end")
        self.assertEqual(sorted(out.splitlines()),
                         sorted(f"[{r}] {t}" for r in range(3) for t in ("line 1", "line 2", "line 3", "end")))

    def test_tagged_errors_stay_errors(self):
        done = collctl("run", "-n", 1, "--tag", "sh", "-c", "echo out; echo err >&2")
        self.assertEqual((done.stdout, done.stderr), ("[0] out\n", "[0] err\n"))

    def test_only_rank_0_reads_standard_input(self):
        done = collctl("run", "-n", 2, "--tag", "cat", input="hello\n")
        self.assertEqual(done.stdout, "[0] hello\n")

    def test_ranks_get_a_processor_each_unless_told_not(self):
        script = "import os; print(len(os.sched_getaffinity(0)))"
        processors = len(os.sched_getaffinity(0))
        if processors < 2:
            self.skipTest("one processor: there is nothing to bind")
        for bind, expected in (("core", 1), ("none", processors)):
            out = self.run_fine("run", "-n", 2, "--tag", "--bind", bind, "python3", "-c", script)
            self.assertEqual(sorted(out.splitlines()), [f"[0] {expected}", f"[1] {expected}"])


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

    def test_who_ignores_sigterm_is_killed_after_the_grace_time(self):
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


class WrongArguments(Case):
    def test_each_is_one_line(self):
        self.expect_error(2, ["no program", "collctl run -n 4"], "run", "-n", 2)
        self.expect_error(2, "--ranks", "run", "true")
        self.expect_error(2, "--ranks", "run", "-n", 0, "true")
        self.expect_error(2, "--bind", "run", "-n", 1, "--bind", "moon", "true")
        self.expect_error(2, "--tga", "run", "-n", 1, "--tga", "true")
        self.expect_error(127, "./program", "run", "-n", 3, "./no-such-program")
        self.expect_error(126, "cannot start /etc", "run", "-n", 1, "/etc")


if __name__ == "__main__":
    main()
