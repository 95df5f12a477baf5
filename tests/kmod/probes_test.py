#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the feature probes of kmod/Kbuild and their use in kmod/compat.h.

Each form in which a kernel declares something is a section of forms.txt. For each form, among the newest forms of all other
headers, three things must hold:

- the probes find what the head of the section lists;
- compat.h compiles with their result;
- it does not compile with the opposite, so that a probe that matches the wrong form cannot go unnoticed.

Where headers of real kernels are in the cache of scripts/vm, the probes must find what that kernel has.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
KMOD = HERE.parent.parent / "kmod"
FORMS = HERE / "forms.txt"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "libcoll/vm"

OLDEST = {"PIN_VMAS", "PFN_T", "LIST_LRU_LOCK"}
IN_6_12 = {"VM_FLAGS_SET", "RELEASE_FAULT_LOCK", "SHRINKER_ALLOC", "IO_URING_CMD_H", "URING_SQE_CMD", "PFN_T", "CRYPTO_UTILS",
           "LIST_LRU_OBJ", "LIST_LRU_LOCK"}
IN_7_2 = {"VM_FLAGS_SET", "RELEASE_FAULT_LOCK", "SHRINKER_ALLOC", "IO_URING_CMD_H", "URING_SQE128_CMD", "URING_DONE32",
          "CRYPTO_UTILS", "LIST_LRU_OBJ"}
KNOWN = {"6.1": OLDEST, "6.12": IN_6_12, "7.2": IN_7_2, "7.3": IN_7_2}

# The opposite compiles as well, because the kernel kept the replaced form: only the first check applies.
BOTH_COMPILE = {"RELEASE_FAULT_LOCK", "CRYPTO_UTILS", "URING_SQE_CMD"}


def probes(srctree):
    """Returns what Kbuild's probes find in the headers of a source tree."""
    makefile = f"srctree := {srctree}\nsrc := {KMOD}\ninclude {KMOD}/Kbuild\nall: ; @echo $(ccflags-y)\n"
    out = subprocess.run(["make", "-s", "-f", "-"], input=makefile, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"-DKCOLL_HAVE_(\w+)", out))


def read_forms():
    """What every kernel has: path -> text. And path -> its forms, oldest first: (what the probes find, text or None)."""
    always, forms = {}, {}
    for section in FORMS.read_text().split("\n=== ")[1:]:
        head, text = section.split("\n", 1)
        path, has = head.split(":")
        if has.split() == ["always"]:
            always[path] = text
        elif has.split() == ["absent"]:
            forms.setdefault(path, []).append((set(), None))
        else:
            forms.setdefault(path, []).append((set(has.split()), text))
    return always, forms


def write_tree(root, texts):
    # The kernel removed this one with its last user.
    gone = set() if "pfn_t.h" in texts["linux/huge_mm.h"] else {"linux/pfn_t.h"}
    for path, text in texts.items():
        if text is not None and path not in gone:
            file = Path(root) / "include" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)


def compiles(root, has):
    include = Path(root) / "include"
    flags = [f"-DKCOLL_HAVE_{name}" for name in sorted(has)]
    command = [os.environ.get("CC", "cc"), "-std=gnu11", "-fsyntax-only", "-Wall", "-Werror", "-nostdinc", f"-I{include}",
               f"-I{KMOD}", "-DCONFIG_ARCH_SUPPORTS_PMD_PFNMAP", "-DCONFIG_TRANSPARENT_HUGEPAGE", "-DPMD_SHIFT=21", *flags,
               str(include / "user.c")]
    result = subprocess.run(command, capture_output=True, text=True)
    return result.returncode == 0, result.stderr


class Forms(unittest.TestCase):
    def test_every_form_is_found_and_compiled(self):
        always, forms = read_forms()
        distinguished = set()
        for header, its_forms in forms.items():
            others = {path: list_of[-1] for path, list_of in forms.items() if path != header}
            for number, (says, text) in enumerate(its_forms, 1):
                with self.subTest(header=header, form=number), tempfile.TemporaryDirectory() as root:
                    write_tree(root, always | {path: newest for path, (_, newest) in others.items()} | {header: text})
                    has = probes(root)
                    self.assertEqual(has, says.union(*(newest for newest, _ in others.values())))
                    good, errors = compiles(root, has)
                    self.assertTrue(good, errors)
                    for probe in set().union(*(of_form for of_form, _ in its_forms)) - BOTH_COMPILE:
                        distinguished.add(probe)
                        good, _ = compiles(root, has ^ {probe})
                        self.assertFalse(good, f"compat.h also compiles with the opposite of {probe}")
        written = set(re.findall(r"kcoll_probe,(\w+),", (KMOD / "Kbuild").read_text()))
        self.assertEqual(written, distinguished | BOTH_COMPILE, "a probe of Kbuild has no form here")

    def test_compat_asks_for_what_is_probed(self):
        asked = set(re.findall(r"KCOLL_HAVE_(\w+)", "".join(p.read_text() for p in KMOD.glob("*.[ch]"))))
        written = set(re.findall(r"kcoll_probe,(\w+),", (KMOD / "Kbuild").read_text()))
        self.assertEqual(asked, written)


class Kernels(unittest.TestCase):
    def test_kernels_of_the_cache(self):
        seen = 0
        for release in sorted(CACHE.glob("*/release")):
            version = ".".join(re.match(r"(\d+)\.(\d+)", release.read_text()).groups())
            common = [*release.parent.glob("root/usr/src/linux-headers-*-common"),
                      *release.parent.glob("system/usr/src/linux-headers-*-common")]
            if version in KNOWN and common:
                seen += 1
                with self.subTest(kernel=release.read_text().strip()):
                    self.assertEqual(probes(common[0]), KNOWN[version])
        if not seen:
            self.skipTest("no headers of a known kernel in the cache")


class Dkms(unittest.TestCase):
    def test_it_builds_for_the_kernels_that_are_supported_only(self):
        supported = re.search(r'^BUILD_EXCLUSIVE_KERNEL="(.*)"$', (KMOD.parent / "dkms.conf").read_text(), re.M).group(1)
        for release in ("6.1.0-56-amd64", "6.12.117+deb12-amd64", "7.2.13+deb14-amd64", "7.3.4+deb13-amd64", "7.3.0"):
            self.assertRegex(release, supported)
        for release in ("5.10.0-34-amd64", "6.0.12-amd64", "8.0.1-amd64", "16.1.2-amd64"):
            self.assertNotRegex(release, supported)


if __name__ == "__main__":
    if subprocess.run(["make", "--version"], capture_output=True).returncode != 0:
        print("skipped: make is missing here")
        sys.exit(77)
    unittest.main()
