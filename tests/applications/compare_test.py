# SPDX-License-Identifier: BSD-3-Clause
"""Tests which results run.py takes for the same."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import run
from programs import Program, mpi4py_suite, same


def program(results=r"^energy.*$", tolerance=1e-6):
    return Program("name", "package", ("program",), "openmpi", results, tolerance=tolerance)


def ended(status=0, results=("energy 1",), served=1):
    return run.Run(status, list(results), 1.0, "text", served=served)


def verdict(without, ours):
    return run.verdict(program(), without, ours)[0]


class Compare(unittest.TestCase):
    def test_numbers_may_differ_by_the_tolerance(self):
        self.assertTrue(same(program(), "energy = -76.0123456 Ry", "energy = -76.0123459 Ry"))
        self.assertFalse(same(program(), "energy = -76.0123456 Ry", "energy = -76.0133456 Ry"))
        self.assertFalse(same(program(tolerance=0), "energy 1.0", "energy 1.1"))
        self.assertTrue(same(program(), "force 0.00000001 -0.00000000", "force 0.00000002 0.00000000"))
        self.assertFalse(same(program(), "force 0.00000001", "force 0.00000004"))
        self.assertTrue(same(program(), "energy 0.1234567D+03", "energy 0.1234567E+03"))

    def test_words_must_be_the_same(self):
        self.assertFalse(same(program(), "energy 1 PASSED", "energy 1 FAILED"))

    def test_results_are_the_lines_that_match(self):
        self.assertEqual(program().results_of("a\nenergy 1\nb\nenergy 2\n"), ["energy 1", "energy 2"])
        text = "Ran 12 tests in 1.5s\n\nFAILED (failures=1)\nFAIL: test_a (module.Class)\n"
        with tempfile.TemporaryDirectory() as directory:
            Path(directory, "test").mkdir()
            Path(directory, "test", "main.py").touch()
            suite = mpi4py_suite(Path(directory))
        self.assertEqual(suite.results_of(text), ["FAIL: test_a (module.Class)", "FAILED (failures=1)", "Ran 12 tests"])
        self.assertEqual(program(r"(\d+) (a|b)").results_of("1 a\n 2  b"), ["1 a"])

    def test_verdicts(self):
        self.assertEqual(verdict(ended(), ended()), run.SAME)
        self.assertEqual(verdict(ended(), ended(results=["energy 2"])), run.OTHER)
        self.assertEqual(verdict(ended(), ended(results=["energy 1"] * 2)), run.OTHER)
        self.assertEqual(verdict(ended(), ended(status=1)), run.FAILS)
        self.assertEqual(verdict(ended(), ended(status=None)), run.FAILS)
        self.assertEqual(verdict(ended(), ended(served=0)), run.FAILS)
        self.assertEqual(verdict(ended(), ended(results=[])), run.SILENT)

    def test_a_test_that_fails_without_the_shim_may_pass_with_it(self):
        tests = Program("name", "package", ("program",), "openmpi", r"PASSED|FAILED", failures="^FAILED$")
        some, more = ended(results=["PASSED", "FAILED"]), ended(results=["FAILED"] * 2)
        self.assertEqual(run.verdict(tests, some, ended(results=["PASSED"] * 2))[0], run.WITHOUT)
        self.assertEqual(run.verdict(tests, some, some)[0], run.SAME)
        self.assertEqual(run.verdict(tests, some, more)[0], run.OTHER)
        self.assertEqual(run.verdict(tests, ended(results=["PASSED"] * 2), some)[0], run.OTHER)


if __name__ == "__main__":
    unittest.main()
