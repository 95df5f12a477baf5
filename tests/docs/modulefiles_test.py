#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""modulefiles_test.py TOP: the module files that are installed, run by the interpreters of their languages with the functions of a module
command. Exit status 77 when neither tclsh nor lua is installed."""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOP = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
LUA = next((name for name in ("lua5.4", "lua5.3", "lua", "texlua") if shutil.which(name)), None)
TCL = "tclsh" if shutil.which("tclsh") else None

# The functions that `module load` provides; each call prints a line.
TCL_COMMANDS = """
proc module-whatis {text} {}
proc conflict {args} { puts "conflict $args" }
proc setenv {name value} { puts "setenv $name $value" }
proc prepend-path {name value} { puts "prepend $name $value" }
proc append-path {args} { puts "append $args" }
proc module-info {args} { return 0 }
"""
LUA_COMMANDS = """
function help(text) end
function whatis(text) end
function conflict(name) print("conflict " .. name) end
function setenv(name, value) print("setenv " .. name .. " " .. value) end
function prepend_path(name, value) print("prepend " .. name .. " " .. value) end
function append_path(name, value, separator) print("append " .. name .. " " .. value) end
function pathJoin(a, b) return a .. "/" .. b end
"""


# The values that CMake inserts into the templates.
VALUES = {
    "PROJECT_VERSION": "1.2.3",
    "CMAKE_INSTALL_PREFIX": "/opt/coll",
    "CMAKE_INSTALL_BINDIR": "bin",
    "CMAKE_INSTALL_LIBDIR": "lib",
    "COLL_INSTALL_SHIMDIR": "lib/libcoll",
}


def module_file(language, values):
    template = (TOP / f"packages/install/module.{language}.in").read_text(encoding="utf-8")
    return re.sub(r"@(\w+)@", lambda match: values[match.group(1)], template)


def run(language, interpreter, commands, values):
    with tempfile.NamedTemporaryFile("w", suffix="." + language, encoding="utf-8") as file:
        file.write(commands + module_file(language, values))
        file.flush()
        done = subprocess.run([interpreter, file.name], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout.splitlines()


class ModuleFiles(unittest.TestCase):
    def check(self, *interpreter):
        lines = run(*interpreter, VALUES)
        self.assertIn("setenv LIBCOLL_ROOT /opt/coll", lines)
        self.assertIn("prepend PATH /opt/coll/bin", lines)
        self.assertIn("prepend LD_LIBRARY_PATH /opt/coll/lib", lines)
        self.assertIn("prepend PKG_CONFIG_PATH /opt/coll/lib/pkgconfig", lines)
        self.assertIn("prepend CMAKE_PREFIX_PATH /opt/coll", lines)
        self.assertIn("setenv OMPI_MCA_mca_base_env_list LD_PRELOAD=/opt/coll/lib/libcoll/libcoll_mpi_openmpi.so", lines)
        self.assertIn("setenv LIBCOLL_SHIMS /opt/coll/lib/libcoll", lines)
        # Setting an unset MANPATH would hide the system's manual pages; man finds share/man next to bin.
        self.assertNotIn("MANPATH", [line.split()[1] for line in lines])
        # The login shell would preload every command, not only the ranks.
        self.assertNotIn("LD_PRELOAD", [line.split()[1] for line in lines])

        # A package of the system, in directories that are searched last.
        lines = run(*interpreter, {**VALUES, "CMAKE_INSTALL_PREFIX": "/usr"})
        self.assertIn("setenv LIBCOLL_SHIMS /usr/lib/libcoll", lines)
        self.assertEqual([line for line in lines if line.startswith("prepend")], [])

    @unittest.skipUnless(TCL, "tclsh is not installed (Debian: tcl)")
    def test_tcl(self):
        self.assertTrue(module_file("tcl", VALUES).startswith("#%Module"), "the first line must be #%Module")
        self.check("tcl", TCL, TCL_COMMANDS)

    @unittest.skipUnless(LUA, "lua is not installed (Debian: lua5.4)")
    def test_lua(self):
        self.check("lua", LUA, LUA_COMMANDS)


if __name__ == "__main__":
    if not (LUA or TCL):
        print("skipped: neither tclsh nor lua is installed (Debian: tcl, lua5.4)")
        sys.exit(77)
    unittest.main()
