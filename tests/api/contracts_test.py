#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plants each fault in a small header and checks that contracts.py finds it."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CONTRACTS = pathlib.Path(__file__).with_name("contracts.py")
HEADER = """/* Conventions; coll_in_a_comment() is no function. */
typedef enum coll_status { COLL_OK, COLL_ERR_ARG } coll_status;

/* A callback. */
typedef void (*coll_callback)(int);

/*
 * Does one thing. Errors: ARG. Thread
 * safety: full.
 */
coll_status coll_first(void);
coll_status coll_second(int value,
                        int other);

/* Errors: none. Thread safety: full. */
const char *coll_third(void);
"""


class ContractsTest(unittest.TestCase):
    def check(self, old="", new=""):
        self.assertIn(old, HEADER)
        with tempfile.TemporaryDirectory() as folder:
            header = pathlib.Path(folder) / "coll.h"
            header.write_text(HEADER.replace(old, new))
            result = subprocess.run([sys.executable, CONTRACTS, header], capture_output=True, text=True)
            return result.returncode, result.stdout

    def test_complete_contracts_pass(self):
        self.assertEqual(self.check(), (0, "3 functions with errors and thread safety\n"))

    def test_missing_errors_are_named(self):
        status, text = self.check("Errors: ARG.", "")
        self.assertEqual(status, 1)
        self.assertIn("coll_first: its comment does not say 'Errors:'", text)

    def test_missing_thread_safety_is_named(self):
        status, text = self.check("Errors: none. Thread safety: full.", "Errors: none.")
        self.assertEqual(status, 1)
        self.assertIn("coll_third: its comment does not say 'Thread safety:'", text)

    def test_function_without_a_comment_is_named(self):
        status, text = self.check("int other);", "int other);\n\nint coll_bare(void);")
        self.assertEqual(status, 1)
        self.assertIn("coll_bare: its comment does not say 'Errors:'", text)

    def test_unknown_status_is_named(self):
        status, text = self.check("Errors: ARG.", "Errors: ARG, OUT.")
        self.assertEqual(status, 1)
        self.assertIn("coll_first: OUT is not a status", text)


if __name__ == "__main__":
    unittest.main()
