# SPDX-License-Identifier: BSD-3-Clause
"""The manual pages: every subcommand and option of the sources is in them."""
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


if __name__ == "__main__":
    main()
