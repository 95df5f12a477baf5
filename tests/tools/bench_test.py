# SPDX-License-Identifier: BSD-3-Clause
"""collctl bench: right results for every option, and consistent rows. Checks no times."""
import json
import pathlib
import tempfile

from cli import Case, main

SHORT = ["--time", "0.002"]


class Bench(Case):
    def rows(self, *arguments):
        result = self.run_json("bench", *arguments, *SHORT)
        for row in result["rows"]:
            self.assertEqual(row["wrong"], 0)
            self.assertGreaterEqual(row["iterations"], 5)
            self.assertGreater(row["min_us"], 0)
            self.assertLessEqual(row["min_us"], row["p10_us"])
            self.assertLessEqual(row["p10_us"], row["median_us"])
            self.assertLessEqual(row["median_us"], row["p90_us"])
        return result

    def test_sizes_are_the_requested_ones(self):
        result = self.rows("allreduce", "-n", 2, "--sizes", "4-1K,100")
        self.assertEqual([r["bytes"] for r in result["rows"]], [4, 16, 64, 256, 1024, 100])
        self.assertIn("2 ranks", result["communicator"])

    def test_every_collective(self):
        rows = self.rows("all", "-n", 2, "--sizes", "64K")["rows"]
        self.assertEqual([(r["collective"], r["bytes"]) for r in rows],
                         [("barrier", 0)] + [(name, 65536) for name in (
                             "bcast", "reduce", "allreduce", "scatter", "gather", "allgather", "alltoall",
                             "reduce_scatter", "scan", "exscan")])

    def test_more_ranks_than_processors_and_another_root(self):
        self.rows("reduce", "-n", 5, "--root", 3, "--sizes", "8,20K")

    def test_transports_memories_and_algorithms(self):
        self.assertIn("shm, forced", self.rows("bcast", "-n", 2, "--sizes", "64K", "--transport", "shm")["communicator"])
        self.rows("allreduce", "-n", 2, "--sizes", "64K", "--memory", "mapped")
        self.rows("bcast", "-n", 3, "--sizes", "64K", "--algorithm", "knomial:k=1,chunk=8K", "--pages", "2m")

    def test_every_datatype(self):
        for name in ("int8", "int64", "uint16", "float16", "bfloat16", "double", "long_double", "complex_double", "bool", "byte",
                     "float_int", "long_double_int"):
            self.rows("allreduce", "-n", 3, "--sizes", "4K", "--type", name)

    def test_a_timeline_of_the_last_call(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "t.json"
            self.rows("allreduce", "-n", 2, "--sizes", "1M", "--algorithm", "fused:chunk=64k,depth=4", "--transport", "shm",
                      "--trace", path)
            self.assertEqual([of.name for of in path.parent.iterdir()], ["t.json"])
            trace = json.loads(path.read_text())
            self.assertEqual((trace["otherData"]["origin"], trace["otherData"]["ranks"]), ("recorded", 2))
            events = trace["traceEvents"]
        rows = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
        self.assertEqual({name.split(" lane")[0] for name in rows.values()}, {"rank 0", "rank 1"})
        boxes = [event for event in events if event["ph"] == "X"]
        for rank in ("rank 0", "rank 1"):
            of_rank = [box for box in boxes if rows[box["tid"]].startswith(rank)]
            # Each rank reduces half of the vector, and copies all of it into its slots.
            for kind, bytes in (("reduce", 1 << 19), ("copy", 1 << 20)):
                self.assertGreaterEqual(sum(box["args"]["bytes"] for box in of_rank if box["name"] == kind), bytes)
        self.assertEqual(min(event["ts"] for event in events if "ts" in event), 0)
        # A rank that waits, waits for a post of the other one, and continues after it.
        posted = {event["id"]: event["ts"] for event in events if event["ph"] == "s"}
        waited = [event for event in events if event["ph"] == "f"]
        self.assertGreater(len(waited), 16)
        for event in waited:
            self.assertGreaterEqual(event["ts"], posted[event["id"]] - 1, event)

    def test_a_timeline_needs_one_call(self):
        self.expect_error(2, "--trace", "bench", "all", "-n", 2, "--trace", "/tmp/t.json")
        self.expect_error(2, "--trace", "bench", "bcast", "-n", 2, "--sizes", "4K,8K", "--trace", "/tmp/t.json")
        self.expect_error(1, "cannot write --trace", "bench", "bcast", "-n", 2, "--sizes", "64K", *SHORT, "--trace", "/nowhere/t.json")
        self.expect_error(1, "not a regular file", "bench", "bcast", "-n", 2, "--sizes", "64K", *SHORT, "--trace", "/dev/null")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "kept.json"
            for text in (None, "of an earlier run"):
                if text is not None:
                    path.write_text(text)
                self.expect_error(1, "nothing was recorded", "bench", "bcast", "-n", 2, "--sizes", "64", *SHORT, "--json",
                                  "--trace", path)
                self.assertEqual(path.read_text() if path.exists() else None, text)

    def test_the_table(self):
        text = self.run_fine("bench", "bcast", "-n", 2, "--sizes", "4-1K", *SHORT)
        self.assertRegex(text, r"(?m)^bcast +1 KiB ")
        self.expect_width(text, 100)

    def test_wrong_arguments(self):
        for words, arguments in [
            ("'collect'", ["collect", "-n", 2]),
            ("required", ["bcast"]),
            ("--ranks", ["bcast", "-n", 65]),
            ("--sizes", ["bcast", "-n", 2, "--sizes", "16M-4"]),
            ("--sizes", ["bcast", "-n", 2, "--sizes", "2"]),
            ("'pigeon'", ["bcast", "-n", 2, "--transport", "pigeon"]),
            ("--memory", ["bcast", "-n", 2, "--memory", "core"]),
            ("--pages", ["bcast", "-n", 2, "--pages", "1g"]),
            ("--root 2", ["bcast", "-n", 2, "--root", "2"]),
            ("'swirl'", ["bcast", "-n", 2, "--algorithm", "swirl"]),
        ]:
            self.expect_error(2, words, "bench", *arguments)

    def test_a_failing_rank_is_reported_once(self):
        self.expect_error(1, ["rank", "COLL_SENSITIVITY"], "bench", "bcast", "-n", 2, "--sizes", "64",
                          env={"COLL_SENSITIVITY": "moon"})


if __name__ == "__main__":
    main()
