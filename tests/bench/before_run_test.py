#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""before_run_test.py BUILD: before.py compares a build with itself; its benchmark computes right results."""
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import before

BUILD = sys.argv.pop(1)


class Run(unittest.TestCase):
    def test_a_build_is_not_slower_than_itself(self):
        with tempfile.TemporaryDirectory() as where:
            file = pathlib.Path(where, "result.json")
            for _ in range(5):  # status 3: the hypervisor changed the distance of the cores between the runs
                result = subprocess.run(
                    [sys.executable, "-B", before.__file__, BUILD, BUILD, "--collectives", "ibcast",
                     "--sizes", "64,4K", "--runs", "2", "--pairs", "6", "--cell-ms", "5", "--json", file],
                    capture_output=True, text=True)
                if result.returncode != 3:
                    break
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertIn("Slower in all runs (0 of ", result.stdout)
            document = json.loads(file.read_text())
        self.assertGreaterEqual(len(document["samples"]), 2 * 2 * 6 * 2)
        self.assertEqual({cell["bytes"] for cell in document["cells"]}, {64, 4096})
        self.assertTrue(all(sample["time_us"] > 0 for sample in document["samples"]))

    def test_every_collective_has_right_results(self):
        options = before.arguments([BUILD, "--ranks", "3", "--sizes", "20,20000", "--cell-ms", "1"])
        with tempfile.TemporaryDirectory() as where:
            program = before.compile_for(before.find_build(BUILD), pathlib.Path(where, "calls"))
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                rows = list(pool.map(lambda name: before.launch_once(program, name, options), before.GROUPS["all"]))
        self.assertEqual([row["collective"] for found in rows for row in found[:1]], list(before.GROUPS["all"]))
        self.assertTrue(all(row["wrong"] == 0 for found in rows for row in found))


if __name__ == "__main__":
    unittest.main()
