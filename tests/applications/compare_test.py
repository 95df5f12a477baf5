# SPDX-License-Identifier: BSD-3-Clause
"""What run.py takes for the same results."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import run
from programs import UNITTEST, Program, same


def program(results=r"^energy.*$", tolerance=1e-6):
    return Program("name", "package", ("program",), "openmpi", results, tolerance=tolerance)


def ended(status=0, results=("energy 1",), served=1):
    return run.Run(status, list(results), 1.0, "text", served=served)


class Compare(unittest.TestCase):
    def test_numbers_may_differ_by_the_tolerance(self):
        self.assertTrue(same(program(), "energy = -76.0123456 Ry", "energy = -76.0123459 Ry"))
        self.assertFalse(same(program(), "energy = -76.0123456 Ry", "energy = -76.0133456 Ry"))
        self.assertFalse(same(program(tolerance=0), "energy 1.0", "energy 1.1"))
        self.assertTrue(same(program(), "energy 0.1234567D+03", "energy 0.1234567E+03"))

    def test_words_must_be_the_same(self):
        self.assertFalse(same(program(), "energy 1 PASSED", "energy 1 FAILED"))

    def test_results_are_the_lines_that_match(self):
        self.assertEqual(program().results_of("a\nenergy 1\nb\nenergy 2\n"), ["energy 1", "energy 2"])
        text = "Ran 12 tests in 1.5s\n\nFAILED (failures=1)\nFAIL: test_a (module.Class)\n"
        self.assertEqual(program(UNITTEST).results_of(text), ["Ran 12 tests", "FAILED (failures=1)",
                                                              "FAIL: test_a (module.Class)"])

    def test_verdicts(self):
        self.assertEqual(run.verdict(program(), ended(), ended())[0], run.SAME)
        self.assertEqual(run.verdict(program(), ended(), ended(results=["energy 2"]))[0], run.OTHER)
        self.assertEqual(run.verdict(program(), ended(), ended(results=["energy 1"] * 2))[0], run.OTHER)
        self.assertEqual(run.verdict(program(), ended(), ended(status=1))[0], run.FAILS)
        self.assertEqual(run.verdict(program(), ended(), ended(status=None))[0], run.FAILS)
        self.assertEqual(run.verdict(program(), ended(), ended(served=0))[0], run.FAILS)
        self.assertEqual(run.verdict(program(), ended(status=1), ended(status=1))[0], run.WITHOUT)
        self.assertEqual(run.verdict(program(), ended(results=[]), ended())[0], run.WITHOUT)


if __name__ == "__main__":
    unittest.main()
