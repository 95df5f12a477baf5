#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pages_test.py TOP: checks the documents without running their commands."""

import re
import sys
import unittest
from pathlib import Path

import pages

TOP = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
COLUMNS = 100
README_LINES = 140


class Pages(unittest.TestCase):
    def faults(self, found):
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_lines_are_at_most_100_columns_long(self):
        self.faults([f"{path.relative_to(TOP)}:{number}: {len(line)} columns, more than {COLUMNS}"
                     for path in pages.pages(TOP)
                     for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
                     if len(line) > COLUMNS])

    def test_links_lead_somewhere(self):
        found = []
        for path in pages.pages(TOP):
            for number, target in pages.links(path):
                name, _, anchor = target.partition("#")
                other = (path.parent / name) if name else path
                if not other.exists():
                    found.append(f"{path.relative_to(TOP)}:{number}: {target}: there is no {name}")
                elif anchor and anchor not in pages.anchors(other):
                    found.append(f"{path.relative_to(TOP)}:{number}: {target}: {other.name} has no heading {anchor}")
        self.faults(found)

    def test_blocks_are_closed(self):
        for path in pages.pages(TOP):
            pages.blocks(path)

    def test_the_readme_is_short(self):
        lines = (TOP / "README.md").read_text(encoding="utf-8").count("\n")
        self.assertLessEqual(lines, README_LINES, "move details to docs/")

    def test_the_index_names_every_page(self):
        index = (TOP / "docs/README.md").read_text(encoding="utf-8")
        self.faults([f"docs/README.md does not name {path.name}" for path in sorted((TOP / "docs").glob("*.md"))
                     if path.name != "README.md" and f"({path.name})" not in index])

    def test_glossary_entries_are_one_line_and_defined_once(self):
        seen, found = set(), []
        for number, line in pages.prose(TOP / "docs/GLOSSARY.md"):
            if line.startswith("- ") or line.startswith("  "):
                entry = re.fullmatch(r"- \*\*([^*]+)\*\*: \S.*\.", line)
                if not entry:
                    found.append(f"docs/GLOSSARY.md:{number}: not an entry of one line, '- **term**: definition.'")
                elif entry[1] in seen:
                    found.append(f"docs/GLOSSARY.md:{number}: {entry[1]} is defined twice")
                else:
                    seen.add(entry[1])
        self.faults(found)
        self.assertGreater(len(seen), 50)


if __name__ == "__main__":
    unittest.main()
