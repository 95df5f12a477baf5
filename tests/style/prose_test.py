#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""prose.py and words.py: which words and lines are refused, where, and what the message says."""
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
import prose
import words

WIDE = "word " * 20 + "end"  # 103 columns


def faults(name, text):
    return list(prose.faults(pathlib.PurePosixPath(name), text))


class Words(unittest.TestCase):
    def test_the_message_has_line_word_and_replacement(self):
        self.assertEqual(faults("README.md", "# Title\nIt is so.\nNobody waits.\n"),
                         [(3, "'Nobody': write instead: no rank, no process, or the negated verb")])

    def test_every_pattern_of_the_list_matches_one_of_its_words(self):
        samples = """nobody somebody everybody whoever crowded distant told heats graveyard mends remedies
            ranks that share cores; past the caches; taken back; lines come back; asked for lines ahead; handed over;
            passed on; the library below; the texts; goes both ways; ways they may go; by the clock; quarter of the clock;
            now and then; in vain; for ever; says nothing of; at odds; fare alike; the machine at hand"""
        for pattern, instead in words.PRIVATE_WORDS:
            with self.subTest(pattern=pattern):
                alone = re.compile(rf"\b({pattern})\b".replace(" ", r"\s+"), re.IGNORECASE)
                self.assertTrue(alone.search(samples))
                self.assertFalse(alone.search(instead), "the replacement itself is refused")

    def test_a_phrase_is_found_across_a_line_break(self):
        self.assertEqual([line for line, _ in faults("docs/a/b.md", "It is timed now\nand then.\n")], [1])

    def test_parts_of_words_and_other_senses_pass(self):
        self.assertEqual(faults("README.md", "We recommend a constant amendment; tells, lies, remote, forever, theta.\n"), [])

    def test_code_and_link_targets_are_not_prose(self):
        text = ("Run `crowd_test` or ``a ` crowd``; see [the test](tests/crowd.cc) and <https://crowd.example/told>.\n"
                "```\nnobody\n```\n")
        self.assertEqual(faults("README.md", text), [])
        self.assertEqual(len(faults("README.md", text + "nobody `x`\n")), 1)

    def test_files_that_are_prose(self):
        for name, count in (("README.md", 1), ("lib/exec/README.md", 1), ("docs/a/guide.md", 1), ("man/libcoll.7.scd", 1),
                            ("CONTRIBUTING.md", 1), ("lib/exec/notes.md", 0), ("lib/exec/run.cc", 0), ("docs/a.json", 0)):
            with self.subTest(name=name):
                self.assertEqual(len(faults(name, "nobody\n")), count)


class Width(unittest.TestCase):
    def test_100_columns(self):
        self.assertEqual(faults("README.md", "x " * 49 + "yz\n"), [])
        self.assertEqual(faults("docs/a.md", "fine\n" + WIDE), [(2, "103 columns, at most 100")])

    def test_columns_are_characters(self):
        self.assertEqual(faults("docs/a.md", "µ " * 49 + "µs"), [])

    def test_a_long_address_on_a_line_of_its_own_passes(self):
        self.assertEqual(faults("README.md", "  https://example.org/" + "x" * 100), [])

    def test_tables_and_code_pass_except_in_the_top_readme(self):
        text = f"| {WIDE} |\n\n```\n{WIDE}\n```\n\n    {WIDE}\n"
        self.assertEqual(faults("docs/a.md", text), [])
        self.assertEqual([line for line, _ in faults("README.md", text)], [1, 4, 7])
        self.assertEqual([line for line, _ in faults("docs/a.md", text + WIDE)], [8])

    def test_manual_pages_have_no_tables_that_cannot_be_wrapped(self):
        self.assertEqual([line for line, _ in faults("man/a.3.scd", f"|  {WIDE}\n\t{WIDE}")], [1, 2])


if __name__ == "__main__":
    unittest.main()
