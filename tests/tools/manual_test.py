# SPDX-License-Identifier: BSD-3-Clause
"""The manual pages: every subcommand and option of the sources is in them."""
import pathlib
import re
import shlex
import unittest

from cli import Case, main

ROOT = pathlib.Path(__file__).resolve().parents[2]


def page(name):
    return (ROOT / "man" / f"{name}.scd").read_text()


def unescaped(text):
    return text.replace("\\", "")


class Manual(Case):
    def test_every_option_is_explained(self):
        for name in ("info", "doctor", "list", "plan", "explain", "simulate", "calibrate", "report", "verify", "bench", "run"):
            text = unescaped(page(f"collctl-{name}.1"))
            options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", self.run_fine(name, "--help").split("Examples:")[0])) - {"--help"}
            for option in options:
                self.assertIn(option, text, name)

    def test_every_option_of_contention_is_explained(self):
        text = unescaped(page("collctl-bench-contention.1"))
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", self.run_fine("bench", "contention", "--help").split("Examples:")[0])) - {"--help"}
        self.assertIn("--pattern", options)
        for option in options:
            self.assertIn(option, text)

    def test_every_option_of_prediction_is_explained(self):
        text = unescaped(page("collctl-bench-prediction.1"))
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", self.run_fine("bench", "prediction", "--help").split("Examples:")[0])) - {"--help"}
        self.assertIn("--candidates", options)
        for option in options:
            self.assertIn(option, text)

    def test_every_option_of_scale_is_explained(self):
        text = unescaped(page("collctl-bench-scale.1"))
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", self.run_fine("bench", "scale", "--help").split("Examples:")[0])) - {"--help"}
        self.assertEqual(options, {"--ranks", "--json"})
        for option in options:
            self.assertIn(option, text)

    def test_every_option_of_choice_is_explained(self):
        text = unescaped(page("collctl-bench-choice.1"))
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", self.run_fine("bench", "choice", "--help").split("Examples:")[0])) - {"--help"}
        self.assertIn("--machine", options)
        for option in options:
            self.assertIn(option, text)

    def test_every_option_of_export_is_explained(self):
        text = unescaped(page("collctl-export.1"))
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", self.run_fine("export", "mpich", "--help").split("Examples:")[0])) - {"--help"}
        self.assertIn("--mpich", options)
        for option in options:
            self.assertIn(option, text)

    def test_sections_of_every_command_are_in_order(self):
        order = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "OUTPUT", "TABLES", "EXIT STATUS", "ENVIRONMENT", "FILES",
                 "EXAMPLES", "SEE ALSO"]
        needed = {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"}
        for file in ROOT.glob("man/*.1.scd"):
            sections = re.findall(r"(?m)^# (.+)$", file.read_text())
            self.assertEqual(sections, [name for name in order if name in sections], file.name)
            self.assertEqual(needed - set(sections), set(), file.name)

    def test_examples_use_options_that_exist(self):
        seen = 0
        for file in ROOT.glob("man/*.[17].scd"):
            for block in re.findall(r"(?ms)^```$(.*?)^```$", file.read_text()):
                for line in re.findall(r"(?m)^(?:\$ )?collctl (.*)$", unescaped(block.replace("\\\n", " "))):
                    words = re.match(r"(?:bench (?:choice|contention|prediction|scale|tune)|export \w+|\w+)", line)[0].split()
                    help_text = self.run_fine(*words, "--help")
                    options = line.split(" ./")[0]  # behind it they are a program's
                    for option in re.findall(r"(?<=\s)--?[a-z][a-z-]*", options):
                        self.assertRegex(help_text, rf"(?<![\w-]){option}(?![\w-])", f"{file.name}: collctl {line}")
                    seen += 1
        self.assertGreater(seen, 20)

    def test_examples_show_what_is_printed(self):
        """Checks output that depends on the arguments alone. "..." stands for lines that the page omits."""
        shown = 0
        for file in ROOT.glob("man/collctl*.scd"):
            for block in re.findall(r"(?ms)^```$(.*?)^```$", file.read_text()):
                found = re.match(r"\n\$ (collctl (?:list|plan|explain|simulate|verify) .*)\n", block.replace("\\\\\n", " "))
                if found:
                    printed = " ".join(self.run_fine(*shlex.split(found[1])[1:]).split())
                    at = 0
                    for part in block.replace("\\\\\n", " ")[found.end():].split("..."):
                        part = " ".join(part.split())
                        at = printed.find(part, at)
                        self.assertNotEqual(at, -1, f"{file.name}: '{part}' is not, or not in this order, in\n{printed}")
                        at += len(part)
                    shown += 1
        self.assertEqual(shown, 6)


if __name__ == "__main__":
    main()
