# SPDX-License-Identifier: BSD-3-Clause
"""collctl verify: a sweep over the whole registry, its summary, and its seed."""
from cli import Case, main


class Verify(Case):
    def test_the_whole_registry_is_right(self):
        result = self.run_json("verify", "all", "--ranks", "1-9,16,23", "--interleavings", 200)
        self.assertTrue(result["ok"])
        listed = {(r["collective"], r["algorithm"]) for r in self.run_json("list")}
        self.assertEqual({(r["collective"], r["algorithm"]) for r in result["algorithms"]}, listed)
        for row in result["algorithms"]:
            self.assertTrue(row["ok"], row)
            self.assertGreater(row["interleavings"], row["plans"])
            self.assertGreater(row["steps"], 0)

    def test_every_root_of_a_rooted_collective_is_tried(self):
        result = self.run_json("verify", "bcast", "--algorithm", "knomial", "--ranks", "5,7")
        self.assertEqual(result["plans"], 5 + 7)

    def test_more_interleavings_are_more_runs(self):
        few = self.run_json("verify", "barrier", "--algorithm", "flat", "--ranks", "4", "--interleavings", 1)
        many = self.run_json("verify", "barrier", "--algorithm", "flat", "--ranks", "4", "--interleavings", 50)
        self.assertEqual(many["interleavings"] - few["interleavings"], 49 * few["cases"])

    def test_the_summary_is_readable(self):
        text = self.run_fine("verify", "allreduce", "--ranks", "2-4", "--interleavings", 100, "--seed", 7)
        self.assertIn("all correct", " ".join(text.split()))
        self.assertIn("seed 7", text)
        for order in {row["order"] for row in self.run_json("list", "allreduce")}:
            self.assertIn(f"  {order}  ", text)
        self.expect_width(text, 100)

    def test_wrong_arguments(self):
        self.expect_error(2, "'collect'", "verify", "collect")
        self.expect_error(2, "--ranks", "verify", "bcast", "--ranks", "2-x")
        self.expect_error(2, "--ranks", "verify", "bcast", "--ranks", "0")
        self.expect_error(2, ["'swirl'", "collctl list"], "verify", "bcast", "--algorithm", "swirl")


if __name__ == "__main__":
    main()
