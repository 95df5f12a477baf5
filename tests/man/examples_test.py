# SPDX-License-Identifier: BSD-3-Clause
"""Every example of section 3 compiles without a warning, runs, and prints what its page says.

CC is the compiler, LIBRARY the folder of libcoll.so. Programs that call coll_comm_create_from_launcher() run under
COLLCTL as two ranks, others alone; without COLLCTL only the latter run. Examples for MPI programs are compiled where
there is an mpicc.
"""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from sources import ROOT, main, pages

CC, LIBRARY, COLLCTL = os.environ["CC"], os.environ["LIBRARY"], os.environ.get("COLLCTL")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("COLL_")}
ENVIRONMENT["XDG_CONFIG_HOME"] = "/nowhere"  # no table or settings of this user


class Example:
    """A block of code and the block of output that follows it, if one does."""

    def __init__(self, name, code):
        self.name, self.code, self.output = name, code, None

    def is_program(self):
        return "int main(" in self.code

    def is_for_mpi(self):
        return "<mpi.h>" in self.code

    def compile(self, folder):
        """Compiles an example and returns the messages of the compiler; None if there is no compiler for it."""
        compiler = shutil.which("mpicc") if self.is_for_mpi() else CC
        if compiler is None:
            return None
        source, result = folder / f"{self.name}.c", folder / self.name
        source.write_text(self.code)
        link = ["-c", "-o", f"{result}.o"]
        if self.is_program():
            link = ["-o", result, f"-L{LIBRARY}", "-lcoll", f"-Wl,-rpath,{LIBRARY}"]
        command = [compiler, "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", source, *link]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.stderr if done.returncode != 0 else ""

    def command(self, folder):
        """Returns the command that runs an example; None if it is not run."""
        if not self.is_program() or self.is_for_mpi():
            return None
        if "coll_comm_create_from_launcher(" not in self.code:
            return [folder / self.name]
        return [COLLCTL, "run", "-n", "2", folder / self.name] if COLLCTL else None


def examples():
    found = []
    for page in pages():
        own = []
        for block in page.blocks():
            if "#include" in block:
                own.append(Example(f"{page.name}_{len(own)}", block))
            else:
                own[-1].output = block
        found += own
    return found


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        cls.examples = examples()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            cls.complaints = list(pool.map(lambda example: example.compile(cls.path), cls.examples))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_every_page_has_a_program(self):
        with_program = {example.name.rpartition("_")[0] for example in self.examples if example.is_program()}
        self.assertEqual({page.name for page in pages()} - with_program, set())

    def test_they_compile(self):
        for example, complaints in zip(self.examples, self.complaints):
            with self.subTest(example.name):
                self.assertIn(complaints, ("", None))

    def test_they_print_what_the_page_says(self):
        for example, complaints in zip(self.examples, self.complaints):
            command = example.command(self.path)
            if complaints != "" or command is None:
                continue
            with self.subTest(example.name):
                done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=ENVIRONMENT)
                self.assertEqual(done.returncode, 0, done.stderr)
                if example.output is not None:
                    self.assertEqual(sorted(done.stdout.splitlines()), sorted(example.output.splitlines()))


if __name__ == "__main__":
    main()
