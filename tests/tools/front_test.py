# SPDX-License-Identifier: BSD-3-Clause
"""collctl itself: help, version, errors for wrong arguments; and collctl list."""
import re

from cli import Case, collctl, main

SUBCOMMANDS = ("info", "doctor", "list", "plan", "explain", "simulate", "calibrate", "report", "verify", "bench", "run")


class Front(Case):
    def test_version_names_tool_and_library(self):
        self.assertRegex(self.run_fine("--version"), r"^collctl, libcoll \d+\.\d+\.\d+\n$")

    def test_help_names_every_subcommand(self):
        text = self.run_fine("--help")
        for name in SUBCOMMANDS:
            self.assertRegex(text, rf"(?m)^  {name} ")
        self.expect_width(text, 100)

    def test_every_subcommand_has_help_with_examples_in_80_columns(self):
        for name in SUBCOMMANDS:
            text = self.run_fine(name, "--help")
            self.assertIn("Examples:\n  ", text)
            self.assertIn(f"collctl {name}", text)
            self.assertIn("--json", text)
            self.expect_width(text, 100)

    def test_nothing_typed_shows_help_and_fails(self):
        done = collctl()
        self.assertEqual(done.returncode, 2)
        self.assertIn("Examples:", done.stderr)

    def test_a_misspelt_variable_is_noticed(self):
        for arguments in (["list"], ["run", "-n", "2", "true"]):
            result = collctl(*arguments, env={"COLL_TRANSPROT": "shm"}).stderr
            self.assertIn("COLL_TRANSPROT is not a variable of libcoll; did you mean COLL_TRANSPORT?", result)

    def test_wrong_words(self):
        self.expect_error(2, ["unknown subcommand 'frobnicate'", "see collctl --help"], "frobnicate")
        self.expect_error(2, "subcommand", "--json")
        self.expect_error(2, ["--frob", "collctl list --help"], "list", "--frob")
        self.expect_error(2, ["'collect'", "allreduce"], "list", "collect")
        self.expect_error(2, "see collctl bench contention --help", "bench", "contention", "-n", 1, "--pages", 0)
        self.expect_error(2, "--skew: Value -1 must not be negative; see", "simulate", "bcast", "1M", "-n", 4, "--algorithm",
                          "flat_read", "--skew", "-1")
        for value in ("nan", "inf"):
            self.expect_error(2, f"--skew: Value {value} must be a finite number", "simulate", "bcast", "1M", "-n", 4,
                              "--algorithm", "flat_read", "--skew", value)
        self.expect_error(2, "--sensitivity: unknown word 'moon'", "plan", "bcast", "-n", 4, "--sensitivity", "moon")


class List(Case):
    def test_json_has_every_algorithm_with_its_facts(self):
        rows = self.run_json("list")
        names = {(r["collective"], r["algorithm"]) for r in rows}
        for collective, algorithms in {"barrier": ("flat", "dissemination", "hierarchical"),
                                       "bcast": ("flat_read", "sequential_write", "knomial", "hierarchical", "shm_pipelined"),
                                       "reduce": ("hierarchical", "movement_avoiding", "fused"),
                                       "allreduce": ("hierarchical", "movement_avoiding", "fused", "dpml_two_level",
                                                     "recursive_doubling")}.items():
            for algorithm in algorithms:
                self.assertIn((collective, algorithm), names)
        self.assertEqual(len(names), len(rows))
        for row in rows:
            self.assertTrue(row["summary"] and row["source"])
            self.assertEqual("order" in row, row["collective"] in ("reduce", "allreduce", "reduce_scatter", "scan", "exscan"))

    def test_one_collective(self):
        self.assertEqual({r["collective"] for r in self.run_json("list", "bcast")}, {"bcast"})

    def test_text_shows_what_json_has(self):
        text = self.run_fine("list")
        for row in self.run_json("list"):
            self.assertTrue(re.search(rf"(?m)^  {row['algorithm']} ", text), row)
        self.expect_width(text, 100)

    def test_three_orders_of_operands(self):
        orders = {"balanced", "any order"}
        self.assertEqual({row["order"] for row in self.run_json("list", "reduce")}, orders)
        for order in orders:
            self.assertIn(f"operands: {order}", " ".join(self.run_fine("list", "reduce").split()))


if __name__ == "__main__":
    main()
