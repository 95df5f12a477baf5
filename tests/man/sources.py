# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the manual pages share: reading the pages' sources in man/."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def unescaped(text):
    """Source text as scdoc understands it: a backslash makes the next character literal."""
    return re.sub(r"\\(.)", r"\1", text)


class Page:
    """A page's source, by sections."""

    def __init__(self, file):
        self.file = file
        self.name = file.name.removesuffix(".3.scd")
        parts = re.split(r"(?m)^# (.+)\n", file.read_text())
        self.sections = dict(zip(parts[1::2], parts[2::2]))

    def functions(self):
        return re.findall(r"coll_\w+", unescaped(self.sections["NAME"]).split(" - ")[0])

    def prototypes(self):
        """The text of SYNOPSIS without formatting, with single spaces."""
        text = re.sub(r"(?<!\\)\*|(?<!\w)_|_(?!\w)", "", self.sections["SYNOPSIS"])
        return " ".join(unescaped(text).split())

    def first_cells(self, section):
        """The first cell of each row of the tables of a section, without formatting."""
        cells = re.findall(r"(?m)^\|[\[< ] (.*)", self.sections.get(section, ""))
        return [unescaped(cell).strip("*_") for cell in cells]

    def blocks(self):
        """The literal blocks of EXAMPLE, as the reader sees them."""
        return [unescaped(block) for block in re.findall(r"(?ms)^```\n(.*?)^```$", self.sections["EXAMPLE"])]


def pages():
    return [Page(file) for file in sorted(ROOT.glob("man/coll_*.3.scd"))]


def main():
    sys.exit(0 if unittest.main(exit=False, verbosity=1).result.wasSuccessful() else 1)
