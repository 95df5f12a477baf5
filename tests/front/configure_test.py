# SPDX-License-Identifier: BSD-3-Clause
"""What CMake refuses to configure, with the sentence that it prints: configure_test.py CMAKE CC CXX"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CMAKE, CC, CXX = sys.argv[1:]


def configure(*flags):
    """Exit status and output of CMake in a new directory. Test programs are not linked: 32-bit libraries may be missing."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([CMAKE, "-S", ROOT, "-B", folder, f"-DCMAKE_C_COMPILER={CC}", f"-DCMAKE_CXX_COMPILER={CXX}",
                               "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY", *flags],
                              capture_output=True, text=True, check=False)
        return done.returncode, " ".join((done.stdout + done.stderr).split())


class Configure(unittest.TestCase):
    def test_32_bit_programs_are_refused_before_anything_is_searched(self):
        if subprocess.run([CXX, "-m32", "-fsyntax-only", "-x", "c++", "/dev/null"], check=False,
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("the compiler has no -m32")
        status, text = configure("-DCMAKE_C_FLAGS=-m32", "-DCMAKE_CXX_FLAGS=-m32")
        self.assertEqual(status, 1, text)
        self.assertIn("libcoll cannot be built for 32-bit programs, because each process reserves address space", text)
        self.assertNotIn("libcoll needs what was not found", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
