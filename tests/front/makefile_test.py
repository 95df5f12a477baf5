# SPDX-License-Identifier: BSD-3-Clause
"""The output and the commands of the Makefile's targets, by make -n: nothing is built or run."""
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def dry_run(*arguments):
    done = subprocess.run(["make", "-C", ROOT, "--no-print-directory", "-n", *arguments],
                          capture_output=True, text=True, check=True,
                          # Without variables of a make that runs this test.
                          env={name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ})
    return done.stdout.splitlines()


class Makefile(unittest.TestCase):
    def builds(self, target):
        """Returns build directory and CMake target of each call of build.sh."""
        calls = [re.search(r"scripts/build\.sh (\S+) \d+(?: -t (\S+))?", line) for line in dry_run(target)]
        return [(call[1], call[2] or "all") for call in calls if call]

    def test_long_targets_first_print_what_they_do_and_how_long_it_takes(self):
        for target in ("build", "demo", "check", "test", "test-long", "install", "bench"):
            with self.subTest(target=target):
                self.assertRegex(dry_run(target)[0], rf"^make {target}: \w.* \d+\s+minutes\b")

    def test_each_target_builds_only_what_it_needs(self):
        self.assertEqual(self.builds("demo"), [("build", "demo")])
        self.assertEqual(self.builds("install"), [("build", "installables")])
        self.assertEqual(self.builds("check"), [("build", "check_programs")])
        self.assertEqual(self.builds("test"), [("build", "all"), ("build-asan", "all"), ("build-tsan", "all")])

    def test_each_test_target_selects_its_tests(self):
        for target, builds, selection in (("check", "build", "-L '^check$'"),
                                          ("test", "build build-asan build-tsan", "-LE '^long$'"),
                                          ("test-long", "build build-asan build-tsan", "-L '^long$'")):
            with self.subTest(target=target):
                self.assertRegex(dry_run(target)[-1], rf"^scripts/run-tests\.sh \d+ {builds} -- {re.escape(selection)}$")

    def test_what_is_installed_is_stripped(self):
        self.assertTrue(any(re.search(r"cmake --install build --strip$", line) for line in dry_run("install")))


if __name__ == "__main__":
    unittest.main()
