# SPDX-License-Identifier: BSD-3-Clause
"""Functions of the tests of collctl: starting it, reading its JSON, and checking the form of errors."""
import json
import os
import subprocess
import sys
import unittest

COLLCTL = os.environ["COLLCTL"]


def collctl(*arguments, env=None, timeout=100, **more):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("COLL_") or k == "COLL_CPU"}
    clean["XDG_CONFIG_HOME"] = "/nowhere"  # ignore a table of this machine
    return subprocess.run([COLLCTL, *map(str, arguments)], text=True, timeout=timeout, env={**clean, **(env or {})},
                          **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more})


class Case(unittest.TestCase):
    def run_fine(self, *arguments, **more):
        done = collctl(*arguments, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def run_json(self, *arguments, **more):
        return json.loads(self.run_fine(*arguments, "--json", **more))

    def expect_error(self, status, words, *arguments, **more):
        """Checks that stderr has one line with all the words, and stdout is empty."""
        done = collctl(*arguments, **more)
        self.assertEqual(done.returncode, status, f"{arguments}: {done.stdout}{done.stderr}")
        self.assertEqual(done.stdout, "", arguments)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in [words] if isinstance(words, str) else words:
            self.assertIn(word, done.stderr, arguments)

    def expect_width(self, text, columns):
        for line in text.splitlines():
            self.assertLessEqual(len(line), columns, line)


def main():
    sys.exit(0 if unittest.main(exit=False, verbosity=1).result.wasSuccessful() else 1)
