# SPDX-License-Identifier: BSD-3-Clause
import argparse
import sys
import unittest

import checked


class Checked(unittest.TestCase):
    def test_what_is_right_is_taken(self):
        self.assertEqual(checked.positive("12"), 12)
        for text in ("4", "4-16M", "4,64K,1M", "4-1K,1M-4M"):
            self.assertEqual(checked.sizes(text), text)

    def test_what_is_wrong_is_named(self):
        for check, text in [(checked.positive, "0"), (checked.positive, "-1"), (checked.positive, "two"),
                            (checked.sizes, "foo"), (checked.sizes, ""), (checked.sizes, "4-"),
                            (checked.build_directory, "/nonexistent")]:
            with self.assertRaisesRegex(argparse.ArgumentTypeError, f"'{text}' is not"):
                check(text)


if __name__ == "__main__":
    sys.exit(unittest.main())
