#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""commits.py in small repositories: which subjects are refused, and what happens without history."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import commits

if commits.git(".", "--version") is None:
    print("git is not installed")
    sys.exit(77)


class Repository(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = pathlib.Path(holder.name).resolve()
        self.git("init", "-q")
        self.base = self.commit("a subject older than the rule")

    def git(self, *words):
        env = dict(os.environ, GIT_AUTHOR_NAME="A", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="A",
                   GIT_COMMITTER_EMAIL="a@b", GIT_CONFIG_GLOBAL="/dev/null")
        return subprocess.run(["git", "-C", self.root, *words], check=True, capture_output=True, text=True, env=env).stdout

    def commit(self, subject):
        self.git("commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", subject)
        return self.git("rev-parse", "HEAD").strip()

    def faults(self):
        return [fault for _, fault in commits.faults(self.root, self.base)]

    def test_subjects_in_order_pass(self):
        for subject in ("exec: yield at once when the peer shares the core", "lib/exec, comm: fix it", "tests: " + "x" * 65,
                        'Revert "exec: yield at once"', "kmod: map 2 MiB pages\n\nA body may hold " + "long " * 30):
            self.commit(subject)
        self.assertEqual(self.faults(), [])

    def test_each_fault_is_named_with_its_commit(self):
        where = self.commit("tests: " + "x" * 66)
        self.assertEqual(commits.faults(self.root, self.base),
                         [(where[:7], f"subject of 73 characters, at most 72: tests: {'x' * 66}")])
        for subject in ("Fix the wait", "exec:yield", "Exec: yield", ": nothing", "fixup! exec: yield"):
            self.commit(subject)
            self.assertIn(f"subject is not 'area: what changes': {subject}", self.faults())

    def test_merges_and_what_the_base_reaches_are_left_alone(self):
        self.git("checkout", "-q", "-b", "side")
        self.commit("side: change")
        self.git("checkout", "-q", "-")
        self.commit("main: change")
        self.git("merge", "-q", "--no-ff", "-m", "Merge of all kinds of things", "side")
        self.assertEqual(self.faults(), [])

    def test_without_history_the_reason_is_given(self):
        with self.assertRaisesRegex(commits.NoHistory, "does not reach back to 1234567"):
            commits.faults(self.root, "1234567" * 5 + "89abc")
        inner = self.root / "unpacked"
        inner.mkdir()
        with self.assertRaisesRegex(commits.NoHistory, "not a git checkout"):
            commits.faults(inner, self.base)


if __name__ == "__main__":
    unittest.main()
