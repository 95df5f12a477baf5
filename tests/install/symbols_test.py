#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""symbols_test.py COMPILER: plants each fault in a small library and checks that symbols.py finds it."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

COMPILER = sys.argv.pop(1) if len(sys.argv) > 1 else "cc"
SYMBOLS = pathlib.Path(__file__).with_name("symbols.py")

HEADER = """
/* coll_in_a_comment(); is no function */
typedef void (*coll_callback)(int);
#define coll_macro(x) (x)
int coll_first(void);
int coll_second(coll_callback callback);
"""
SHIM_HEADER = """
#include "coll/coll.h"
int coll_inside(void);
"""
SOURCE = """
int coll_first(void) { return 0; }
int coll_second(void (*c)(int)) { return !c; }
int coll_inside(void) { return 0; }
"""
VERSIONS = "LIBCOLL_0.1 { global: coll_first; coll_second; local: *; };\n"
PRIVATE = "LIBCOLL_PRIVATE_0.1 { global: coll_inside; };\n"


class SymbolsTest(unittest.TestCase):
    def check(self, source=SOURCE, versions=VERSIONS + PRIVATE, soname="libcoll.so.0"):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            headers = folder / "coll"
            headers.mkdir()
            (headers / "coll.h").write_text(HEADER)
            (headers / "shim.h").write_text(SHIM_HEADER)
            (folder / "coll.c").write_text(source)
            (folder / "coll.map").write_text(versions)
            command = [COMPILER, "-shared", "-fPIC", f"-Wl,-soname,{soname}", "coll.c", "-o", "coll.so"]
            if versions:
                command.append("-Wl,--version-script=coll.map")
            subprocess.run(command, cwd=folder, check=True)
            result = subprocess.run(
                [sys.executable, SYMBOLS, headers / "coll.h", headers / "shim.h", folder / "coll.so"],
                capture_output=True, text=True)
            return result.returncode, result.stdout

    def test_agreement_passes(self):
        self.assertEqual(self.check(), (0, "2 public and 1 private functions, all exported\n"))

    def test_function_too_few_is_named(self):
        status, text = self.check(versions="LIBCOLL_0.1 { global: coll_first; local: *; };\n" + PRIVATE)
        self.assertEqual(status, 1)
        self.assertIn("coll_second: declared in the header but not exported", text)

    def test_function_too_many_is_named(self):
        status, text = self.check(
            source=SOURCE + "int coll_inner(void) { return 0; }\n",
            versions="LIBCOLL_0.1 { global: coll_first; coll_second; coll_inner; local: *; };\n" + PRIVATE)
        self.assertEqual(status, 1)
        self.assertIn("coll_inner: exported but not declared", text)

    def test_missing_version_is_named(self):
        status, text = self.check(versions="")
        self.assertEqual(status, 1)
        self.assertIn("coll_first: has version '', not LIBCOLL_x.y", text)

    def test_private_function_among_the_public_is_named(self):
        status, text = self.check(versions="LIBCOLL_0.1 { global: coll_*; local: *; };\n")
        self.assertEqual(status, 1)
        self.assertIn("coll_inside: has version 'LIBCOLL_0.1', not LIBCOLL_PRIVATE_x.y", text)

    def test_public_function_among_the_private_is_named(self):
        status, text = self.check(versions="LIBCOLL_PRIVATE_0.1 { global: coll_*; local: *; };\n")
        self.assertEqual(status, 1)
        self.assertIn("coll_first: has version 'LIBCOLL_PRIVATE_0.1', not LIBCOLL_x.y", text)

    def test_wrong_soname_is_named(self):
        status, text = self.check(soname="libcoll.so.1")
        self.assertEqual(status, 1)
        self.assertIn("the soname is libcoll.so.1", text)


if __name__ == "__main__":
    unittest.main()
