#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""abi_test.py COMPILER: plants each kind of change in coll.h or libcoll.map and checks that abi.py tells them apart."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

COMPILER = sys.argv.pop(1) if len(sys.argv) > 1 else "cc"
ABI = pathlib.Path(__file__).with_name("abi.py")
TOP = ABI.parents[2]
HEADER = (TOP / "include/coll/coll.h").read_text()
VERSIONS = (TOP / "lib/api/libcoll.map").read_text()


def replaced(text, old, new):
    assert text.count(old) >= 1, old
    return text.replace(old, new, 1)


class AbiTest(unittest.TestCase):
    """Compares with a record of the current header, so that additions since the last release do not matter."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.record = pathlib.Path(cls.folder.name) / "libcoll.abi"
        subprocess.run([sys.executable, ABI, "--compiler", COMPILER, "--record", cls.record, "--update"])  # check() skips

    def check(self, header=HEADER, versions=VERSIONS):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "coll").mkdir()
            (folder / "coll/coll.h").write_text(header)
            (folder / "coll.map").write_text(versions)
            done = subprocess.run([sys.executable, ABI, "--compiler", COMPILER, "--header", folder / "coll/coll.h",
                                   "--versions", folder / "coll.map", "--record", self.record], capture_output=True, text=True)
        if done.returncode == 77:
            self.skipTest(done.stdout)
        return done.returncode, done.stdout + done.stderr

    def test_same_passes(self):
        self.assertEqual(self.check(), (0, "compatible with libcoll.abi\n"))

    def test_new_function_passes(self):
        status, text = self.check(
            header=replaced(HEADER, "const char *coll_version(void);", "const char *coll_version(void);\nint coll_new(int x);"),
            versions=VERSIONS + "LIBCOLL_9.9 { global: coll_new; } LIBCOLL_0.2;\n")
        self.assertEqual((status, text), (0, "compatible with libcoll.abi: functions were added\n"))

    def test_new_status_passes(self):
        status, text = self.check(header=replaced(HEADER, "  COLL_ERR_TOPOLOGY,", "  COLL_NEW = 999,\n  COLL_ERR_TOPOLOGY = 11,"))
        self.assertEqual(status, 0, text)

    def test_removed_function_fails(self):
        status, text = self.check(header=replaced(HEADER, "const char *coll_version(void);", ""))
        self.assertEqual(status, 1)
        self.assertIn("coll_version", text)

    def test_other_parameter_fails(self):
        status, text = self.check(header=replaced(HEADER, "int coll_comm_rank(const coll_comm *comm);",
                                                  "int coll_comm_rank(const coll_comm *comm, int more);"))
        self.assertEqual(status, 1)
        self.assertIn("coll_comm_rank", text)

    def test_other_result_fails(self):
        status, text = self.check(header=replaced(HEADER, "int coll_comm_rank(", "long coll_comm_rank("))
        self.assertEqual(status, 1)
        self.assertIn("coll_comm_rank", text)

    def test_other_value_of_a_status_fails(self):
        status, text = self.check(header=replaced(HEADER, "COLL_OK = 0", "COLL_NEW = 0, COLL_OK"))
        self.assertEqual(status, 1)
        self.assertIn("COLL_OK", text)

    def test_other_version_of_a_function_fails(self):
        status, text = self.check(versions=replaced(replaced(VERSIONS, "    coll_wait;\n", ""), "    coll_allgather;\n",
                                                    "    coll_allgather;\n    coll_wait;\n"))
        self.assertEqual(status, 1)
        self.assertIn("coll_wait", text)


if __name__ == "__main__":
    unittest.main()
