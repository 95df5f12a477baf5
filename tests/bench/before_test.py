#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""before.py without a build: the arguments that it refuses, and its reports about simulated launches."""
import contextlib
import io
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import before
import paired

DRIVER = pathlib.Path(before.__file__)


def launcher(slower_by, noise=0.004, flag=200.0, wrong=0):
    """Replaces the benchmark: 10 us, times `slower_by` for (collective, bytes) of the build "now"."""
    rng = random.Random(7)

    def launch_one(side, collective, options):
        factor = {size: slower_by.get((collective, size), 1.0) if side == "now" else 1.0 for size in options.sizes}
        return [{"collective": collective, "bytes": size, "time_us": 10 * factor[size] * rng.lognormvariate(0, noise),
                 "wrong": wrong, "flag_ns_before": flag, "flag_ns_after": flag} for size in options.sizes]
    return launch_one


class Report(unittest.TestCase):
    def report(self, words, **how):
        options = before.arguments(["DIR", *words])
        samples = before.measure({"before": "before", "now": "now"}, options, launcher(**how),
                                 before.Progress({c: 60 for c in options.collectives}, io.StringIO()))
        cells, moved = paired.cells(samples, options.runs)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = before.print_report(cells, moved, options.runs)
        return status, out.getvalue()

    def test_a_slower_cell_is_named_and_gives_status_1(self):
        status, text = self.report(["--collectives", "bcast,ireduce", "--sizes", "64,4K"],
                                   slower_by={("ireduce", 4096): 1.05})
        self.assertEqual(status, 1, text)
        self.assertIn("Slower in all runs (1 of 4): ireduce 4 KiB (far cores)\n", text)
        marked = [line.split()[1] for line in text.splitlines() if line.endswith("slower")]
        self.assertEqual(marked, ["ireduce"])

    def test_equal_builds_give_status_0(self):
        status, text = self.report(["--sizes", "64"], slower_by={})
        self.assertEqual(status, 0, text)
        self.assertIn("Slower in all runs (0 of 16): none", text)

    def test_a_faster_cell_is_no_fault(self):
        status, text = self.report(["--collectives", "bcast", "--sizes", "64"], slower_by={("bcast", 64): 0.9})
        self.assertEqual(status, 0)
        self.assertIn("Faster in all runs (1 of 1): bcast 64 B", text)

    def test_a_run_goes_on_while_the_cores_move(self):
        """The cores move within the first five pairs; six of the pairs after them are enough."""
        steady, flags = launcher({}), iter([50.0] * 10)

        def moving(side, collective, options):
            return [dict(row, flag_ns_after=next(flags, 200.0)) for row in steady(side, collective, options)]
        options = before.arguments(["DIR", "--collectives", "bcast", "--sizes", "64", "--runs", "1", "--pairs", "6"])
        progress = before.Progress({"bcast": 12}, io.StringIO())
        samples = before.measure({"before": "before", "now": "now"}, options, moving, progress)
        self.assertEqual(len(samples), 2 * 11)
        self.assertEqual((progress.total, progress.left["bcast"]), (2 * 11, 0))
        cells, moved = paired.cells(samples, 1)
        self.assertEqual((cells[0]["runs"][0].pairs, moved), (6, 5))

    def test_no_cell_with_enough_pairs_is_a_failure(self):
        """Cores that change their distance in every run leave no interval."""
        options = before.arguments(["DIR", "--collectives", "bcast", "--sizes", "64"])
        samples = before.measure({"before": "before", "now": "now"}, options, launcher({}),
                                 before.Progress({"bcast": 60}, io.StringIO()))
        for sample in samples:
            sample["flag_ns_after"] = 200.0 if sample["pair"] < 5 else 50.0
        cells, moved = paired.cells(samples, 3)
        self.assertEqual(moved, 15)
        with contextlib.redirect_stdout(io.StringIO()) as out, self.assertRaises(before.Failed):
            before.print_report(cells, moved, 3)
        self.assertIn("Not judged", out.getvalue())
        self.assertIn("15 pairs dropped", out.getvalue())


class Launches(unittest.TestCase):
    def test_a_wrong_result_is_a_failure(self):
        with tempfile.TemporaryDirectory() as where:
            program = pathlib.Path(where, "program")
            program.write_text('#!/bin/sh\necho \'{"bytes": 64, "wrong": 3}\'\n')
            program.chmod(0o755)
            options = before.arguments(["DIR", "--sizes", "64"])
            with self.assertRaisesRegex(before.Failed, "bcast: wrong result"):
                before.launch_once(program, "bcast", options)
            program.write_text("#!/bin/sh\necho no memory >&2; exit 1\n")
            with self.assertRaisesRegex(before.Failed, "now: bcast: exit status 1: no memory"):
                before.measure({"before": "true", "now": program},
                               before.arguments(["DIR", "--sizes", "64", "--collectives", "bcast"]),
                               lambda p, *rest: before.launch_once(p, *rest) if p == program else [],
                               before.Progress({"bcast": 60}, io.StringIO()))


class Progress(unittest.TestCase):
    def test_a_line_every_20_seconds_and_the_remaining_time(self):
        now, out = [0.0], io.StringIO()
        progress = before.Progress({"bcast": 10, "scan": 10}, out, lambda: now[0])
        for _ in range(10):
            now[0] += 6
            progress.done("bcast", 6, 0)
        lines = out.getvalue().splitlines()
        self.assertEqual(len(lines), 2)
        self.assertEqual(lines[0], "run 1, bcast: 4 of 20 launches, about 1.6 min remain")
        progress.done("scan", 12, 0)
        self.assertAlmostEqual(progress.remaining_s(), 9 * 12)


class Usage(unittest.TestCase):
    def refused(self, *words):
        result = subprocess.run([sys.executable, "-B", DRIVER, *words], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
        return result.stderr

    def test_each_fault_has_status_2_and_says_what_to_do(self):
        for words, text in (
            ([], "required: before"),
            (["/nonexistent"], "build it with `make build`"),
            (["DIR", "--collectives", "bcats"], "'bcats' is unknown; use blocking, nonblocking, all"),
            (["DIR", "--sizes", "4-"], "'4-' is not a size; use a range such as 4-16M"),
            (["DIR", "--sizes", "1M-4K"], "ranges ascend"),
            (["DIR", "--pairs", "5"], "needs at least 6 pairs"),
            (["DIR", "--ranks", "65"], "use 1 to 64"),
            (["DIR", "--runs", "0"], "must be positive"),
        ):
            with self.subTest(words=words):
                self.assertIn(text, self.refused(*words))

    def test_names_and_sizes(self):
        self.assertEqual(before.parse_collectives("bcast,ibcast,bcast"), ["bcast", "ibcast"])
        self.assertEqual(len(before.parse_collectives("all")), 32)
        self.assertEqual(before.parse_sizes("4-1K"), [4, 16, 64, 256, 1024])
        self.assertEqual(before.parse_sizes("1m,6"), [4, 1 << 20])


if __name__ == "__main__":
    unittest.main()
