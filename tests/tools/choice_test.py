# SPDX-License-Identifier: BSD-3-Clause
"""collctl bench choice: choices by price come near the best ones, random tables repeat, and wrong arguments."""
import collections
import math

from cli import Case, main

# Reduced audit: geometric mean and worst ratio of the choices by price. The whole audit takes minutes and is run by hand.
MEAN, WORST = 1.06, 1.5


class Choice(Case):
    def audit(self, *arguments):
        return self.run_json("bench", "choice", *arguments)

    def test_prices_choose_near_the_best(self):
        for machine, transport in (("epyc-1p", "shm"), ("nodeb", "shm")):
            audit = self.audit("--machine", machine, "--sizes", "1K,128K", "--transport", transport)
            self.assertEqual(audit["cells"], 21)  # 10 collectives of two sizes, and a barrier
            self.assertLess(audit["price"]["geometric_mean"], MEAN, machine)
            self.assertLess(audit["price"]["worst"], WORST, machine)

    def test_without_calibration(self):
        # The nearest built-in table of a built-in machine is its own. A drawn one has another.
        choices = {}
        for machine, tables in (("epyc-1p", ()), ("random:5", ("--tables", 6))):
            for how in ((), ("--uncalibrated",)):
                rows = self.audit("--machine", machine, "--collective", "gather", "--sizes", "2K,64K", "--transport", "shm",
                                  *tables, *how)["rows"]
                choices[machine, how] = [(row["price"]["algorithm"], row["price"]["chunk"]) for row in rows]
        self.assertEqual(choices["epyc-1p", ()], choices["epyc-1p", ("--uncalibrated",)])
        self.assertNotEqual(choices["random:5", ()], choices["random:5", ("--uncalibrated",)])

    def test_the_best_is_not_slower_than_any_choice(self):
        audit = self.audit("--machine", "epyc-1p", "--collective", "bcast", "--sizes", "64,64K", "--times")
        rows = audit["rows"]
        self.assertEqual(collections.Counter(row["transport"] for row in rows),
                         {"shared_memory": 2, "cma": 2, "kcoll_pinned": 2, "mapped": 2})
        for row in rows:
            best = row["best"]["simulated_us"]
            self.assertGreater(best, 0)
            self.assertEqual(best, min(run["simulated_us"] for run in row["all"]))
            for choice in ("rules", "price"):
                self.assertGreaterEqual(row[choice]["simulated_us"], best)
        mean = math.exp(sum(math.log(row["price"]["simulated_us"] / row["best"]["simulated_us"]) for row in rows) / len(rows))
        self.assertAlmostEqual(audit["price"]["geometric_mean"], mean)

    def test_times_compare_prices_with_runs(self):
        text = self.run_fine("bench", "choice", "--machine", "knl", "-n", 16, "--collective", "scatter", "--sizes", "64K",
                             "--times")
        self.assertIn("scatter throttled_read", text)
        self.assertIn("Priced over simulated times", text)

    def test_random_tables_repeat(self):
        arguments = ["--tables", 2, "--collective", "barrier", "--machine"]
        first, again, other = (self.audit(*arguments, f"random:{seed}") for seed in (5, 5, 6))
        self.assertEqual(first["rows"], again["rows"])
        self.assertNotEqual(first["rows"], other["rows"])
        for row in first["rows"] + other["rows"]:
            self.assertTrue(24 <= row["ranks"] <= 256)

    def test_wrong_arguments(self):
        for arguments, words in (
            (["--machine", "random:x"], "random:SEED"),
            (["--machine", "random:1", "-n", 4], "leave it out"),
            (["--machine", "all", "-n", 4], "name one instead of all"),
            (["--machine", "epyc-1p", "-n", 33], "32 cores"),
            (["--machine", "epyc-1p", "--tables", 2], "--tables belongs to --machine random:SEED"),
            (["--machine", "epyc-1p", "--transport", "post"], "unknown value 'post'"),
            (["--machine", "nodea", "--transport", "cma"], "does not have it"),
        ):
            self.expect_error(2, words, "bench", "choice", *arguments)


main()
