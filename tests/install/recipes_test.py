#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""recipes_test.py TOP: the recipes of packages/ parse, Debian's symbols file agrees with the version script, rpmlint
accepts the spec file, reuse the licences of all files. A check whose tool is not installed is skipped by name."""
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

TOP = pathlib.Path(sys.argv[1])
del sys.argv[1:]


def text(name):
    return (TOP / name).read_text(encoding="utf-8")


class Recipes(unittest.TestCase):
    def test_spack_and_easybuild_are_python(self):
        for name in ("packages/recipes/spack.py", "packages/recipes/libcoll.eb"):
            compile(text(name), name, "exec")

    def test_conda_is_yaml(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("python3-yaml is not installed")
        recipe = yaml.safe_load(re.sub(r"\{\{(.*?)\}\}", r"\1", text("packages/recipes/conda.yaml")))
        self.assertEqual(recipe["package"]["name"], "libcoll")

    def test_symbols_of_debian_are_those_of_the_version_script(self):
        nodes = re.findall(r"(LIBCOLL_\w+\.\d+) \{(.*?)\}", re.sub(r"/\*.*?\*/", "", text("lib/api/libcoll.map"), flags=re.DOTALL),
                           re.DOTALL)
        exported = {f"{name}@{node}" for node, body in nodes for name in [node, *re.findall(r"(coll_\w+);", body)]}
        listed = re.findall(r"^ (\S+@\S+) ", text("packages/debian/libcoll0.symbols"), re.MULTILINE)
        self.assertGreater(len(exported), 70)
        self.assertEqual(set(listed), exported)

    @unittest.skipUnless(shutil.which("rpmlint") and shutil.which("rpm"), "rpmlint, or rpm, is not installed")
    def test_rpmlint_finds_nothing(self):
        rpm = TOP / "packages/rpm"
        done = subprocess.run(["rpmlint", "--rpmlintrc", rpm / "libcoll.rpmlintrc", rpm / "libcoll.spec"],
                              capture_output=True, text=True)
        self.assertIn("0 errors, 0 warnings", done.stdout, done.stdout + done.stderr)

    @unittest.skipUnless(shutil.which("reuse"), "reuse is not installed")
    def test_every_file_has_a_licence(self):
        if not (TOP / ".git").exists():
            self.skipTest("not a checkout: reuse would look at build directories")
        done = subprocess.run(["reuse", "--root", TOP, "lint"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr)


if __name__ == "__main__":
    unittest.main()
