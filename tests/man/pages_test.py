# SPDX-License-Identifier: BSD-3-Clause
"""Section 3 agrees with coll.h, and each function has a page or an alias. MAN: the folder of built pages."""
import os
import pathlib
import re
import unittest

from sources import HEADER, ROOT, declarations, main, pages, statuses

BUILT = pathlib.Path(os.environ["MAN"])
FUNCTIONS = declarations()
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "PARAMETERS", "RETURN VALUE", "ERRORS", "THREAD SAFETY", "EXAMPLE",
            "SEE ALSO"]


class Pages(unittest.TestCase):
    def test_man_finds_every_function(self):
        self.assertGreater(len(FUNCTIONS), 60)
        for name in FUNCTIONS:
            with self.subTest(name):
                file = BUILT / f"{name}.3"
                self.assertTrue(file.exists(), f"no {file.name}; name the function in the NAME section of its page")
                alias = re.fullmatch(r"\.so man3/(coll_\w+)\.3\n", file.read_text())
                page = alias.group(1) if alias else name
                source = (ROOT / "man" / f"{page}.3.scd").read_text()
                self.assertIn(name, source.split("# NAME")[1].split(" - ")[0])

    def test_pages_name_only_functions_that_exist(self):
        for page in pages():
            with self.subTest(page.name):
                self.assertEqual(set(page.functions()) - set(FUNCTIONS), set())

    def test_only_the_forms_of_one_collective_share_a_page(self):
        for page in pages():
            with self.subTest(page.name):
                base = page.functions()[0]
                forms = {base, base.replace("coll_", "coll_i", 1), base + "_init"}
                self.assertEqual(base, page.name)
                self.assertLessEqual(set(page.functions()), forms)

    def test_synopsis_is_as_in_the_header(self):
        for page in pages():
            with self.subTest(page.name):
                synopsis = page.prototypes()
                for name in page.functions():
                    self.assertIn(FUNCTIONS[name].text, synopsis)

    def test_sections_are_complete_and_in_order(self):
        for page in pages():
            with self.subTest(page.name):
                expected = list(SECTIONS)
                if not any(FUNCTIONS[name].parameters for name in page.functions()):
                    expected.remove("PARAMETERS")
                if not any(FUNCTIONS[name].returns_status for name in page.functions()):
                    expected.remove("ERRORS")
                self.assertEqual(list(page.sections), expected)

    def test_every_parameter_is_explained(self):
        for page in pages():
            with self.subTest(page.name):
                explained = page.first_cells("PARAMETERS")
                for name in page.functions():
                    self.assertEqual(set(FUNCTIONS[name].parameters) - set(explained), set(), name)

    def test_statuses_are_those_of_the_header(self):
        known = set(re.findall(r"(?m)^  (COLL_ERR_\w+),?", HEADER))
        self.assertGreater(len(known), 10)
        for page in pages():
            with self.subTest(page.name):
                rows = [cell for cell in page.first_cells("ERRORS") if cell != "Status"]
                self.assertLessEqual(set(rows), known)
                self.assertEqual(len(rows), len(set(rows)), rows)
                returned = statuses(page.name) if FUNCTIONS[page.name].returns_status else set()
                self.assertEqual(set(rows), {f"COLL_ERR_{status}" for status in returned})

    def test_enumerators_are_listed(self):
        code = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.S)
        for name, first in (("coll_strerror", "COLL_OK"), ("coll_datatype_name", "COLL_INT8"),
                            ("coll_op_defined", "COLL_SUM")):
            enumerators = re.search(r"enum \w* ?\{\s*(" + first + r" = .*?)\}", code, re.S).group(1)
            expected = {word for word in re.findall(r"COLL_\w+", enumerators) if not word.endswith("_END_")}
            self.assertGreater(len(expected), 11, name)
            page = next(page for page in pages() if page.name == name)
            self.assertEqual(expected - set(page.first_cells("DESCRIPTION")), set(), name)

    def test_references_to_pages_of_the_project_resolve(self):
        for page in pages():
            with self.subTest(page.name):
                text = page.file.read_text()
                for name, section in re.findall(r"\*((?:coll|libcoll|kcoll)[\w-]*)\*\((\d)\)", text):
                    built, source = BUILT / f"{name}.{section}", ROOT / "man" / f"{name}.{section}.scd"
                    self.assertTrue(built.exists() or source.exists(), f"{name}({section})")


if __name__ == "__main__":
    main()
