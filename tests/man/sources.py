# SPDX-License-Identifier: BSD-3-Clause
"""Reads the sources of the pages in man/ and the declarations of coll.h, for the tests of the manual pages."""
import dataclasses
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = (ROOT / "include" / "coll" / "coll.h").read_text()


@dataclasses.dataclass
class Declaration:
    """A function of coll.h: text with single spaces, names of parameters, whether it returns a coll_status."""
    text: str
    parameters: list
    returns_status: bool


def declarations():
    """The functions that coll.h declares, by name."""
    functions = {}
    code = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.S)
    for text in re.findall(r"(?m)^(?!typedef)\w[\w *]*?\bcoll_\w+\([^;]*;", code):
        text = " ".join(text.split())
        name, arguments = re.fullmatch(r".*?\b(coll_\w+)\((.*)\);", text).groups()
        arguments = re.sub(r"\(\*(\w+)\)\([^)]*\)", r"\1", arguments)  # a function pointer
        parameters = [re.search(r"(\w+)$", one).group(1) for one in arguments.split(", ") if one != "void"]
        functions[name] = Declaration(text, parameters, text.startswith("coll_status "))
    return functions


def statuses(function):
    """The statuses that coll.h lists under "Errors:" in the contract of a function, without COLL_ERR_."""
    known = set(re.findall(r"(?m)^  COLL_ERR_(\w+)", HEADER))
    contract = re.search(r"/\*((?:(?!\*/).)*)\*/\s*[\w *]*?\b" + function + r"\(", HEADER, re.S).group(1)
    errors = re.search(r"Errors: (.*?)\. Thread safety", " ".join(contract.replace("*", " ").split())).group(1)
    errors = re.sub(r"\([^()]*\)", "", errors.replace("()", ""))  # conditions
    found = set()
    if collectives := re.search(r"those of collectives(?: but (\w+))?", errors):
        common = re.search(r'"Errors of collectives" are:\n(.*?)\n \*  - ', HEADER, re.S).group(1)
        found = set(re.findall(r"(?m)^ \*      ([A-Z_]+)  ", common)) - {collectives.group(1)}
        if function.endswith("v") or function == "coll_reduce_scatter":
            found.remove("TRUNCATE")  # not checked where counts differ between ranks
        errors = errors.replace(collectives.group(0), "")
    for other in re.findall(r"\bas (coll_\w+)", errors):
        found |= statuses(other)
    return found | set(re.findall(r"\b[A-Z_]+\b", errors)) & known


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
