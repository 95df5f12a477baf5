# SPDX-License-Identifier: BSD-3-Clause
"""The manual pages: every subcommand, option and environment variable of the sources is in them."""
import pathlib
import re
import unittest

from cli import Case, main

ROOT = pathlib.Path(__file__).resolve().parents[2]


def page(name):
    return (ROOT / "man" / f"{name}.scd").read_text()


def unescaped(text):
    return text.replace("\\", "")


class Manual(Case):
    def test_every_option_is_explained(self):
        for name in ("info", "doctor", "list", "plan", "explain", "simulate", "calibrate", "verify", "bench", "run"):
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

    def test_every_option_of_export_is_explained(self):
        text = unescaped(page("collctl-export.1"))
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", self.run_fine("export", "mpich", "--help").split("Examples:")[0])) - {"--help"}
        self.assertIn("--mpich", options)
        for option in options:
            self.assertIn(option, text)

    def test_every_variable_of_the_sources_is_explained(self):
        used = set()
        for file in [*ROOT.glob("lib/**/*.cc"), *ROOT.glob("lib/**/*.h")]:
            text = file.read_text()
            used |= set(re.findall(r'(?:getenv|variable|value)\("(COLL_\w+)"\)', text))
            used |= set(re.findall(r'variable = "(COLL_\w+)"', text))
        self.assertGreater(len(used), 7)
        used |= {"COLL_BARRIER", "COLL_BCAST", "COLL_REDUCE", "COLL_ALLREDUCE"}  # made from the collectives' names
        self.assertEqual(used - {row["name"] for row in self.run_json("info", "--env")}, set())

    def test_the_page_has_the_table_of_the_program(self):
        rows = "".join(f"|  {row['name']}\n:  {row['takes']}\n:  {row['unset']}\n:  {row['meaning']}\n"
                       for row in self.run_json("info", "--env"))
        self.assertIn(rows, page("libcoll.7"))


if __name__ == "__main__":
    main()
