# SPDX-License-Identifier: BSD-3-Clause
"""collctl bench tune: it finds settings, sweeps others, and its numbers are consistent. Checks no times."""
from cli import Case, main


class Tune(Case):
    def test_a_setting_beside_the_best(self):
        result = self.run_json("bench", "tune", "--collective", "bcast", "--sizes", "16K", "--calls", 400,
                               "--rounds", 2)
        self.assertEqual((result["ranks"], result["calls"], result["table"]), (2, 400, None))
        row, = result["rows"]
        self.assertEqual((row["collective"], row["bytes"]), ("bcast", 16384))
        self.assertGreater(row["settings"], 10)
        self.assertNotEqual(row["tuned"], "")  # 400 calls are enough for the first trial
        for name in ("tuned_us", "untuned_us", "best_us", "again_us", "spread"):
            self.assertGreater(row[name], 0, name)
        self.assertAlmostEqual(row["ratio"], row["tuned_us"] / row["best_us"])
        for of, name in (("tuned", "tuned_us"), ("untuned", "untuned_us"), ("again", "again_us")):
            self.assertAlmostEqual(result[of]["geometric_mean"], row[name] / row["best_us"])

    def test_few_calls_find_nothing(self):
        result = self.run_json("bench", "tune", "--collective", "scan", "--sizes", "4K", "--calls", 3, "--rounds", 1)
        self.assertEqual(result["rows"][0]["tuned"], "")

    def test_wrong_arguments(self):
        self.expect_error(2, "a barrier has no size", "bench", "tune", "--collective", "barrier")
        self.expect_error(2, "--ranks", "bench", "tune", "-n", 1)


main()
