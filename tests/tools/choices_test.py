#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The choices of the library in the situations of choices/*.txt. Each file has the command that describes its situation,
and what it prints: a change of a choice shows as a difference of one line. With --update, the files are written anew."""
import difflib
import json
import os
import pathlib
import re
import shlex
import sys
import unittest

from cli import Case, collctl, main

HERE = pathlib.Path(__file__).resolve().parent
FILES = sorted((HERE / "choices").glob("*.txt"))
UPDATE = "COLLCTL=build/tools/collctl tests/tools/choices_test.py --update"


class Situation:
    def __init__(self, path):
        self.path = path
        self.licence, command, self.expected = path.read_text().split("\n", 2)
        self.words = shlex.split(command.removeprefix("$ "))
        self.head = f"{self.licence}\n{command}\n"
        self.cpu = ""
        if self.words[0].startswith("COLL_CPU="):
            self.cpu = self.words.pop(0).removeprefix("COLL_CPU=")

    def option(self, name):
        return self.words[self.words.index(name) + 1] if name in self.words else ""

    def run(self, *more, **how):
        done = collctl(*self.words[1:], *more, env={"COLL_CPU": self.cpu, "COLL_CONFIG": "none"}, **how)
        if done.returncode != 0:
            raise AssertionError(f"{self.path.name}: {done.stderr}")
        return done.stdout


SITUATIONS = [Situation(path) for path in FILES]


class Choices(Case):
    def test_are_as_recorded(self):
        differences = []
        for situation in SITUATIONS:
            differences += difflib.unified_diff(
                situation.expected.splitlines(), situation.run().splitlines(), f"tests/tools/choices/{situation.path.name}",
                "collctl explain --all", n=0, lineterm="")
        if differences:
            self.fail("choices have changed. If that is intended, run this and commit the files:\n  "
                      f"{UPDATE}\n\n" + "\n".join(differences))

    def test_do_not_depend_on_this_machine(self):
        """A process that may use one processor only gets the same choices. Tests every eighth situation, to save time."""
        cpu = min(os.sched_getaffinity(0))
        for situation in SITUATIONS[::8]:
            self.assertEqual(situation.run(preexec_fn=lambda: os.sched_setaffinity(0, {cpu})), situation.run(),
                             situation.path.name)

    def test_json_has_the_same_choices(self):
        situation = SITUATIONS[0]
        choices = json.loads(situation.run("--json"))["choices"]
        lines = situation.expected.split("algorithm\n")[1].splitlines()
        self.assertEqual([choice["setting"] for choice in choices], [line.split()[-1] for line in lines])
        self.assertEqual([choice["collective"] for choice in choices], [line.split()[0] for line in lines])


class Files(Case):
    def test_the_situation_is_given_in_full(self):
        for situation in SITUATIONS:
            name = situation.path.name
            self.assertRegex(situation.licence, r"^# SPDX-License-" r"Identifier: ", name)
            self.assertEqual(situation.words[:3], ["collctl", "explain", "--all"], name)
            if not situation.option("--machine"):
                self.assertTrue(situation.cpu and situation.option("--topology"), name)
                self.assertRegex(situation.option("--assume"), "cma=|in-place", name)

    def test_every_processor_and_every_built_in_machine_is_in_one(self):
        wrong = collctl("explain", "--all", "-n", 2, env={"COLL_CPU": "none"})
        cpus = set(re.search(r"use one of ([\w, ]+), or unset", wrong.stdout + wrong.stderr)[1].split(", "))
        self.assertEqual({situation.cpu for situation in SITUATIONS} - {""}, cpus)
        machines = set(re.search(r"Built-in machines: (.+)", self.run_fine("explain", "--help"))[1].split(", "))
        self.assertEqual({situation.option("--machine") for situation in SITUATIONS} - {""}, machines)

    def test_lines_are_short_and_each_is_there_once(self):
        for situation in SITUATIONS:
            self.expect_width(situation.expected, 100)
            lines = situation.expected.split("algorithm\n")[1].splitlines()
            self.assertEqual(len(lines), len(set(lines)), situation.path.name)
            self.assertGreater(len(lines), 100, situation.path.name)


def update():
    for situation in SITUATIONS:
        situation.path.write_text(situation.head + situation.run())
        print(situation.path.relative_to(HERE.parents[1]))


if __name__ == "__main__":
    update() if sys.argv[1:] == ["--update"] else main()
