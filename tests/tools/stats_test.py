# SPDX-License-Identifier: BSD-3-Clause
"""COLL_STATS: the table, the JSON and the files that programs leave at their end."""
import json
import os
import pathlib
import tempfile

from cli import Case, collctl, main

EXAMPLES = os.environ["EXAMPLES"]
PATHS = f"{EXAMPLES}/example_shortest_paths"


class Statistics(Case):
    def run_example(self, wish, *more, example=PATHS):
        done = collctl("run", "-n", 2, example, env={"COLL_STATS": wish, **dict(more)})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def check(self, report, algorithm=None):
        self.assertEqual(report["forwarded"], [])
        collectives = {row["collective"] for row in report["calls"]}
        self.assertIn("bcast", collectives)
        for row in report["calls"]:
            self.assertGreater(row["calls"], 0)
            self.assertGreater(row["seconds"], 0)
            self.assertIn(row["transport"], ("shm", "cma", "mapped"))
            if row["up_to_bytes"] is not None:
                self.assertLessEqual(row["bytes"], row["calls"] * row["up_to_bytes"])
            if algorithm and row["collective"] == "bcast":
                self.assertEqual(row["algorithm"], algorithm)

    def test_nothing_without_it(self):
        for wish in ("", "0"):
            self.assertEqual(self.run_example(wish), "")

    def test_the_table_is_that_of_rank_0_alone(self):
        told = self.run_example("1")
        self.assertEqual(told.count("statistics of rank"), 1)
        self.assertIn("statistics of rank 0", told)
        self.assertRegex(told, r"(?m)^bcast +\d+ (B|KiB|MiB) +\d+ +\d+ +[\d.]+ +[\d.]+  \w.*, (shm|cma|mapped)$")

    def test_json_and_what_it_tells(self):
        self.check(json.loads(self.run_example("json")))

    def test_calls_are_counted_one_by_one(self):
        report = json.loads(self.run_example("json", example=f"{EXAMPLES}/example_allreduce"))
        self.assertEqual([(row["collective"], row["calls"]) for row in report["calls"]], [("allreduce", 1)])

    def test_the_forced_algorithm_is_named(self):
        self.check(json.loads(self.run_example("json", ("COLL_BCAST", "knomial"))), "knomial")

    def test_files_of_one_and_of_all_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.run_example(f"{folder}/one.json"), "")
            self.assertEqual(self.run_example(f"{folder}/rank%r.json"), "")
            self.assertEqual(sorted(os.listdir(folder)), ["one.json", "rank0.json", "rank1.json"])
            for rank in (0, 1):
                report = json.loads((pathlib.Path(folder) / f"rank{rank}.json").read_text())
                self.assertEqual(report["rank"], rank)
                self.check(report)

    def test_a_file_that_cannot_be_written_is_reported(self):
        self.assertIn("cannot write COLL_STATS=/dev/full: No space left on device", self.run_example("/dev/full"))
        self.assertIn("cannot write COLL_STATS=/nowhere/x: No such file or directory", self.run_example("/nowhere/x"))


if __name__ == "__main__":
    main()
