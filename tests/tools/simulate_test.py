# SPDX-License-Identifier: BSD-3-Clause
"""collctl simulate: virtual runs, their JSON, the timeline, and wrong arguments."""
import json
import os
import pathlib
import tempfile

from cli import Case, main


class Runs(Case):
    def simulate(self, *arguments):
        return self.run_json("simulate", *arguments)

    def test_hierarchies_pay_on_large_machines(self):
        gains = []
        for machine, ranks in (("epyc-1p", 32), ("epyc-2p", 64), ("arm-n1", 160)):
            flat, tree = (self.simulate("bcast", "1M", "-n", ranks, "--machine", machine, "--algorithm", name)["end_us"]
                          for name in ("flat_read:chunk=64K", "hierarchical:chunk=16K"))
            gains.append(flat / tree)
        self.assertGreater(gains[0], 1)
        self.assertEqual(gains, sorted(gains))

    def test_json_has_every_rank(self):
        run = self.simulate("allreduce", "64K", "-n", 16, "--machine", "epyc-1p", "--algorithm", "fused")
        self.assertEqual(len(run["by_rank"]), 16)
        self.assertEqual(run["end_us"], max(rank["end_us"] for rank in run["by_rank"]))
        for rank in run["by_rank"]:
            self.assertGreater(rank["reducing_us"], 0)
            self.assertAlmostEqual(rank["copying_us"] + rank["reducing_us"] + rank["waiting_us"],
                                   rank["end_us"] - rank["arrival_us"], places=6)

    def test_skew_and_seed(self):
        arguments = ["bcast", "64K", "-n", 32, "--machine", "epyc-1p", "--algorithm", "hierarchical", "--skew", 100]
        first, again, other = (self.simulate(*arguments, "--seed", seed) for seed in (3, 3, 4))
        self.assertEqual(first, again)
        self.assertNotEqual(first["end_us"], other["end_us"])
        self.assertTrue(all(0 <= rank["arrival_us"] < 100 for rank in first["by_rank"]))

    def test_kernel_copies_contend_for_page_locks(self):
        def locking(algorithm):
            return self.simulate("scatter", "1M", "-n", 64, "--machine", "knl", "--algorithm", algorithm, "--transport", "cma")
        parallel, throttled = locking("parallel_read"), locking("throttled_read:k=8")
        self.assertEqual((parallel["max_concurrent_locks"], throttled["max_concurrent_locks"]), (63, 8))
        self.assertGreater(parallel["end_us"], 2 * throttled["end_us"])

    def test_the_summary(self):
        text = self.run_fine("simulate", "bcast", "1M", "-n", 64, "--machine", "epyc-2p", "--algorithm", "hierarchical", "--root", 5)
        self.assertRegex(text, r"(?m)^plan +bcast hierarchical, .*root 5")
        self.assertRegex(text, r"(?m)^time +[0-9.]+ .s from the ranks' arrival")
        self.expect_width(text, 100)


class Timeline(Case):
    def test_the_trace_is_what_perfetto_reads(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            run = self.run_json("simulate", "bcast", "64K", "-n", 8, "--machine", "epyc-1p", "--algorithm", "hierarchical:chunk=16K",
                                "--trace", path)
            events = json.loads(pathlib.Path(path).read_text())["traceEvents"]
        slices = [event for event in events if event["ph"] == "X"]
        self.assertEqual(sum(event["name"] == "copy" for event in slices), 7 * 4)
        for event in slices:
            self.assertLessEqual(event["ts"] + event["dur"], run["end_us"] + 1e-3)
            if event["name"] == "copy":
                self.assertGreater(event["dur"], 0)
        starts = {event["id"] for event in events if event["ph"] == "s"}
        self.assertTrue(starts)
        self.assertEqual(starts, {event["id"] for event in events if event["ph"] == "f"})
        named = {event["tid"] for event in events if event["ph"] == "M" and event["name"] == "thread_name"}
        self.assertLessEqual({event["tid"] for event in slices}, named)

    def test_a_trace_that_cannot_be_written(self):
        self.expect_error(1, "--trace", "simulate", "bcast", "1K", "-n", 2, "--machine", "knl", "--transport", "shm", "--algorithm", "flat_read",
                          "--trace", "/nowhere/t.json")


class Wrong(Case):
    def test_wrong_words(self):
        base = ["simulate", "bcast", "1M", "-n", 4, "--machine", "knl", "--algorithm"]
        self.expect_error(1, "no transport 'mapped'", *base, "flat_read")
        self.expect_error(2, ["'tree'", "knomial"], *base, "tree")
        self.expect_error(2, "--transport", *base, "flat_read", "--transport", "magic")
        self.expect_error(2, ["--root 4", "0 to 3"], *base, "flat_read", "--root", 4)
        self.expect_error(2, "--root", "simulate", "allreduce", "1M", "-n", 4, "--algorithm", "fused", "--root", 1)
        self.expect_error(1, "'epic'", "simulate", "bcast", "1M", "-n", 4, "--machine", "epic", "--algorithm", "flat_read")


if __name__ == "__main__":
    main()
