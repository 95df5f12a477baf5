# SPDX-License-Identifier: BSD-3-Clause
"""scripts/progress.sh: percentage and remaining time of a build, its output in a file, nothing else printed."""
import pathlib
import subprocess
import tempfile
import unittest

PROGRESS = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "progress.sh"


def lines_of(script, interval="1"):
    """Returns what progress.sh prints and logs for the output of a shell script."""
    with tempfile.NamedTemporaryFile("r") as log:
        done = subprocess.run(["bash", "-c", f"({script}) | '{PROGRESS}' '{log.name}' {interval}"],
                              capture_output=True, text=True, check=True)
        return done.stdout.splitlines(), log.read()


class Progress(unittest.TestCase):
    def test_ninja_steps_become_a_percentage_and_an_estimate(self):
        printed, log = lines_of("echo '[1/4] a'; sleep 2.5; echo '[3/4] b'; sleep 2.5")
        self.assertGreaterEqual(len(printed), 2, printed)
        self.assertRegex(printed[0], r"^    25 %, \d:\d\d min, about \d+ s left$")
        self.assertRegex(printed[-1], r"^    75 %, \d:\d\d min, about [1-9]\d* s left$")
        self.assertEqual(log, "[1/4] a\n[3/4] b\n")

    def test_so_do_the_percentages_of_make(self):
        printed, _ = lines_of("echo '[ 50%] Building C object a.o'; sleep 2.5")
        self.assertRegex(printed[-1], r"^    50 %, \d:\d\d min, about [1-9]\d* s left$")

    def test_a_short_build_prints_nothing(self):
        self.assertEqual(lines_of("printf '[1/1] a\\nwarning: b'", interval=""), ([], "[1/1] a\nwarning: b\n"))

    def test_a_line_that_comes_in_parts_is_one_line(self):
        printed, log = lines_of("printf '[1/'; sleep 1.5; echo '2] a'; sleep 2")
        self.assertEqual(log, "[1/2] a\n")
        self.assertRegex(printed[-1], r"^    50 %")


if __name__ == "__main__":
    unittest.main()
