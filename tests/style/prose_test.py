#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""prose.py, words.py and source_text.py: which words and lines are refused, where, and what the message says."""
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
import prose
import source_text
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


def source_faults(name, text, exceptions=()):
    """(line, word) of each fault in a source file."""
    path = pathlib.PurePosixPath(name)
    found = [(line, message.split("'")[1]) for line, message in
             prose.source_faults(path, text, prose.Exceptions(tuple(exceptions)))]
    return sorted(found)


class Sources(unittest.TestCase):
    def test_comments_of_every_language(self):
        for name, text, lines in (
            ("lib/a.cc", "int a;  // nobody\n/* It is timed now\n * and then, told. */\n", [1, 2, 3]),
            ("lib/a.h", "// One line goes on by\n// the clock.\n", [1]),
            ("kmod/a.c", "\t/* whoever */\n", [1]),
            ("tools/a.py", '"""Nobody."""\n\n\ndef f():\n    """Told."""\n    return 1  # in vain\n', [1, 5, 6]),
            ("scripts/a.sh", "#!/bin/sh\nx=${#y} # whoever\n# told\n", [2, 3]),
            ("lib/CMakeLists.txt", "set(x 1)  # nobody\n", [1]),
            ("Makefile", "# everybody\nall:\n", [1]),
            ("tools/page/a.js", "const a = 1; // nobody\n", [1]),
        ):
            with self.subTest(name=name):
                self.assertEqual([line for line, _ in source_faults(name, text)], lines)

    def test_texts_in_quotes(self):
        for name, text in (("lib/a.cc", 'log("nobody waits");'), ("lib/a.cc", 'log(R"(one\nnobody)");'),
                           ("tools/a.py", "print('nobody waits')\n"), ("tools/a.py", "print(f'nobody {waits}')\n"),
                           ("scripts/a.sh", 'echo "nobody waits"\n')):
            with self.subTest(text=text):
                self.assertEqual([word for _, word in source_faults(name, text)], ["nobody"])

    def test_names_of_every_language(self):
        for name, text in (("lib/a.cc", "struct Contest {};"), ("lib/a.h", "bool is_crowded_;"), ("lib/a.cc", "f(whichWay);"),
                           ("tests/a_test.cc", "TEST(Crowd, IsQuick)"), ("bench/a.c", "enum { WAYS = 3 };"),
                           ("tools/a.py", "told = 1\n"), ("tools/a.py", "def settle(): pass\n"), ("scripts/a.sh", "way=1\n"),
                           ("cmake/a.cmake", "set(remedy 1)\n"), ("lib/crowd.cc", "int a;")):
            with self.subTest(text=text):
                self.assertEqual([line for line, _ in source_faults(name, text)], [1])

    def test_the_message_has_name_and_replacement(self):
        path = pathlib.PurePosixPath("lib/a.cc")
        self.assertEqual(list(prose.source_faults(path, "\nint walk_bytes;", prose.Exceptions(()))),
                         [(2, "'walk_bytes' in the name walk_bytes: write instead: window_bytes")])

    def test_every_pattern_for_names_matches_one_of_these(self):
        samples = """nobody crowded groups_apart other_way Contest doomed graveyard patience tell_once Judge settled kcoll_remedy
            distant walk_bytes asked_ahead hand_over Question vain lies"""
        for pattern, instead in words.NAME_WORDS:
            with self.subTest(pattern=pattern):
                self.assertTrue(any((prose.check_name(sample) or ("", ""))[1] == instead for sample in samples.split()))
                self.assertFalse(any(prose.check_name(name) for name in re.findall(r"\w+", instead)))

    def test_other_names_and_marks_pass(self):
        self.assertEqual(source_faults("lib/a.cc", "int always, away, one_way, under_way_, satellite, belies, 1'000, x = '\"'; // fine\n"), [])
        self.assertEqual(source_faults("lib/a.cc", 'const char* url = "http://x"; int a = 1;  // `crowded` is quoted\n'), [])
        self.assertEqual(source_faults("scripts/a.sh", "echo ${x#mended} $# '#' \\# x#mended\n"), [])
        self.assertEqual(source_faults("lib/data.json", '{"way": "nobody"}\n'), [])

    def test_lines_count_past_texts_and_continued_comments(self):
        source = source_text.Source("a.cc", 'a("x\\\ny"); // b \\\n c\n/* d\n e */ int f;\n')
        self.assertEqual([name for name in source.names if name[1] in ("a", "int")], [(1, "a"), (5, "int")])
        self.assertEqual([line for line, _ in source.comments], [2])

    def test_exceptions_by_place(self):
        exceptions = prose.Exceptions((("lib/old/", "way", "why"), ("lib/", "kcoll_remedy", "why"), ("kmod/", "*", "why"),
                                       ("lib/", "doomed", "why")))
        for name, text, allowed in (("lib/old/a.cc", "int other_way;", True), ("lib/new/a.cc", "int other_way;", False),
                                    ("lib/old/a.cc", "int told;", False), ("lib/new/a.cc", "kcoll_remedy();", True),
                                    ("lib/new/a.cc", "cma_remedy();", False), ("kmod/a.c", "// nobody told\nint way;", True),
                                    ("lib/old/a.cc", "// WHOEVER", False)):
            with self.subTest(name=name, text=text):
                self.assertEqual(not list(prose.source_faults(pathlib.PurePosixPath(name), text, exceptions)), allowed)
        self.assertEqual(list(exceptions.unused()),
                         ["tests/style/words.py: the exception of 'doomed' in lib/ allows nothing: remove it"])

    def test_every_exception_has_a_place_and_a_reason(self):
        for place, word, reason in words.EXCEPTIONS:
            self.assertTrue(place and word and reason)
            self.assertTrue(word == "*" or prose.check_name(word) or any(pattern.fullmatch(word) for pattern, _ in prose.WORDS), word)


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
