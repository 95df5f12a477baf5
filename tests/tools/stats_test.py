# SPDX-License-Identifier: BSD-3-Clause
"""COLL_STATS: the table, the JSON and the files that programs leave at their end."""
import json
import os
import pathlib
import re
import tempfile

from cli import Case, collctl, main

EXAMPLES = os.environ["EXAMPLES"]
PATHS = f"{EXAMPLES}/example_shortest_paths"
MEETING = f"{EXAMPLES}/tools_meeting"


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
        result = self.run_example("1")
        self.assertEqual(result.count("statistics of rank"), 1)
        self.assertIn("statistics of rank 0", result)
        self.assertRegex(result, r"(?m)^bcast +\d+ (B|KiB|MiB) +\d+ +\d+ +[\d.]+ +[\d.]+  \w.*, (shm|cma|mapped)$")

    def test_json_and_its_contents(self):
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

    def check_sums(self, report):
        total = report["total"]
        for part in ("served", "forwarded", "one_rank"):
            self.assertEqual(total[part], sum(row[part] for row in report["functions"]))
        self.assertAlmostEqual(total["seconds"], sum(total[f"{part}_seconds"] for part in ("served", "forwarded", "one_rank")))
        self.assertGreater(total["share_of_run"], 0)
        self.assertLessEqual(total["share_of_run"], 1)

    def test_functions_and_their_sum(self):
        report = json.loads(self.run_example("json"))
        self.assertTrue(report["complete"])
        self.assertIn("coll_bcast", {row["function"] for row in report["functions"]})
        self.check_sums(report)
        self.assertRegex(self.run_example("1"), r"(?m)^total +\d+ +0 +0 +[\d.]+ +0.000 +[\d.]+ %$")

    def test_prometheus(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run_example(f"{folder}/job.prom")
            for text in (self.run_example("prometheus"), (pathlib.Path(folder) / "job.prom").read_text()):
                sample = re.compile(r'[a-z_]+\{(?:[a-z_]+="[^"]*",?)+\} [\d.]+')
                lines = text.splitlines()
                self.assertTrue(all(line.startswith("# ") or sample.fullmatch(line) for line in lines), text)
                self.assertIn("# TYPE libcoll_calls_total counter", lines)
                self.assertRegex(text, r'(?m)^libcoll_calls_total\{rank="0",function="",collective="bcast",.*\} [1-9]')

    def test_partial_reports(self):
        with tempfile.TemporaryDirectory() as folder:
            file = f"{folder}/%r.json"
            self.run_example(file, ("COLL_STATS_EVERY", "0.000001"))
            self.assertEqual(sorted(os.listdir(folder)), ["0.json", "1.json"])
            self.assertTrue(json.loads((pathlib.Path(folder) / "0.json").read_text())["complete"])
        result = self.run_example("json", ("COLL_STATS_EVERY", "0.000001"))
        reports = result.replace("}\n{", "}\0{").split("\0")
        self.assertGreater(len(reports), 1)
        self.assertEqual([json.loads(text)["complete"] for text in reports], [False] * (len(reports) - 1) + [True])
        self.assertIn("not a number of seconds", self.run_example("json", ("COLL_STATS_EVERY", "often")))

    def test_a_file_that_cannot_be_written_is_reported(self):
        self.assertIn("cannot write COLL_STATS=/dev/full: No space left on device", self.run_example("/dev/full"))
        self.assertIn("cannot write COLL_STATS=/nowhere/x: No such file or directory", self.run_example("/nowhere/x"))

    def test_a_timeline_that_cannot_be_written_is_reported_once_by_each_rank(self):
        done = collctl("run", "-n", 2, MEETING, "create", "free", "create", "free", env={"COLL_TRACE": "/nowhere/x"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stderr.splitlines()),
                         [f"libcoll: rank {rank}: cannot write /nowhere/x.{rank}, the file of COLL_TRACE: No such file or directory; "
                          "name a file in a writable directory" for rank in range(2)])


if __name__ == "__main__":
    main()
