# SPDX-License-Identifier: BSD-3-Clause
"""collctl calibrate: a table that the library reads, choices that were measured, the earlier table is kept."""
import json
import os
import pathlib
import tempfile
import unittest

from cli import Case, collctl, main

CORES = len(os.sched_getaffinity(0))


class Calibrate(Case):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.table = pathlib.Path(cls.folder.name) / "table.json"
        cls.old = pathlib.Path(cls.folder.name) / "table.json.old"
        cls.rules = pathlib.Path(cls.folder.name) / "here.rules"
        # The first run does the whole work; the second one only tests the comparison of two tables. A busy machine
        # takes many times as long.
        arguments = ("calibrate", "--quick", "--output", cls.table)
        cls.first = collctl(*arguments, "--ranks", min(CORES, 2), "--emit-rows", cls.rules, "--json", timeout=500)
        cls.second = collctl(*arguments, "--ranks", 1, timeout=300)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        for done in (self.first, self.second):
            self.assertEqual(done.returncode, 0, done.stderr)
        self.result = json.loads(self.first.stdout)
        self.read = json.loads(self.old.read_text())

    def test_discarded_samples_are_reported(self):
        self.assertGreaterEqual(self.result["rounds"], 3)
        self.assertGreater(self.result["samples"], 500)
        self.assertLess(self.result["discarded"], self.result["samples"])
        self.assertRegex(self.second.stdout, r"\d+ of \d+ samples were disturbed")

    def test_rules_do_not_replace_the_table(self):
        done = collctl("calibrate", "--output", self.table, "--emit-rows",
                       pathlib.Path(self.folder.name) / "." / "table.json", timeout=10)
        self.assertEqual(done.returncode, 1)
        self.assertIn("name the same file", done.stderr)

    def test_every_parameter_has_a_value(self):
        values = {of["name"]: of for of in self.result["parameters"]}
        for name in ("flag", "look", "step", "copy alone", "reduce all", "shared_memory bandwidth", "link l3"):
            self.assertGreater(values[name]["value"], 0, name)
        if CORES > 1:
            self.assertGreater(values["flag"]["points"], 0)
            self.assertIsNotNone(values["flag"]["spread"])
        for point in self.result["points"]:
            self.assertTrue(point["kept"] > 0 or point["problem"], point["quantity"])

    def test_the_table_is_of_this_machine_and_explains(self):
        self.assertEqual(self.read["schema"], "libcoll-machine")
        self.assertRegex(self.read["date"], r"^\d{4}-\d\d-\d\d$")
        rows = self.run_json("explain", "allreduce", "64K", "-n", 2, "--machine", self.old)
        self.assertGreater(len(rows["choices"]), 5)
        self.assertNotIn("not this machine", self.run_fine("explain", "bcast", "1M", "-n", 2, "--machine", self.old))
        virtual = self.run_json("simulate", "bcast", "64K", "-n", 2, "--machine", self.old, "--algorithm", "flat_read", "--transport", "shm")
        self.assertGreater(virtual["end_us"], 0)

    @unittest.skipIf(CORES < 2, "needs two processors")
    def test_choices_were_measured(self):
        collectives = {of["collective"] for of in self.read["choices"]}
        self.assertEqual(len(collectives), 11)
        for of in self.read["choices"]:
            self.assertEqual(of["ranks"], 2)
            self.assertGreater(of["predicted_us"], 0)
        # More than two candidates were measured if there are more.
        self.assertGreater(max(len(of["candidates"]) for of in self.result["comparisons"]), 4)
        # Other tests may disturb all samples of a class: then the prediction decides.
        timed = [of for of in self.read["choices"] if of["measured_us"] > 0]
        self.assertGreater(len(timed), len(self.read["choices"]) / 2)
        classes = [of["up_to_bytes"] for of in self.read["choices"] if of["collective"] == "bcast" and of["ranks"] == 2]
        self.assertEqual(classes, sorted(set(classes)))
        self.assertEqual(classes[-1], 16 << 20)
        for comparison in self.result["comparisons"]:
            self.assertLessEqual(len(comparison["candidates"]), 16)
            predicted = [of["predicted_us"] for of in comparison["candidates"]]
            self.assertEqual(predicted, sorted(predicted))

    def test_the_earlier_table_is_kept(self):
        self.assertEqual(json.loads(self.table.read_text())["schema"], "libcoll-machine")
        self.assertNotEqual(self.old.read_text(), self.table.read_text())
        self.assertRegex(self.second.stdout, "changed by more than (its|their) spread")
        self.assertIn(f"{self.old}", self.second.stdout.replace("\n", ""))

    def test_curves_have_measured_and_fitted_values(self):
        curves = json.loads(self.first.stdout)["curves"]
        self.assertGreater(len({at["curve"] for at in curves}), 1)
        self.assertGreater(min(at["measured"] for at in curves), 0)
        self.assertGreater(sum(at["fitted"] > 0 for at in curves), len(curves) / 2)

    def test_the_rules_have_every_collective_and_their_evidence(self):
        lines = self.rules.read_text().splitlines()
        self.assertEqual(sum(line.startswith("when processor~") for line in lines), 1)
        for collective in {row["collective"] for row in self.read["choices"]}:
            self.assertTrue(any(line.startswith(f"{collective}[p=2") for line in lines), collective)
        self.assertEqual(sum(line.startswith("  -- ") for line in lines),
                         len({(row["collective"], row["ranks"]) for row in self.read["choices"]}))

    def test_wrong_arguments(self):
        self.expect_error(1, ["--output", "No such file or directory"], "calibrate", "--quick", "--output",
                          "/no/such/folder/table.json")
        for option in ("--output", "--emit-rows"):
            self.expect_error(2, [option, "is empty"], "calibrate", "--quick", option, "")
        self.expect_error(2, "--ranks", "calibrate", "--ranks", 0)
        self.expect_error(2, "--output", "calibrate", "--system", "--output", "x.json")
        self.expect_error(1, "--output", "calibrate", "--quick", env={"HOME": "", "XDG_CONFIG_HOME": ""})


if __name__ == "__main__":
    main()
