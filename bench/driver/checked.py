# SPDX-License-Identifier: BSD-3-Clause
"""Arguments that the drivers share, checked before anything is measured."""

import argparse
import re
from pathlib import Path


def build_directory(text):
    if not (Path(text) / "CMakeCache.txt").is_file():
        raise argparse.ArgumentTypeError(f"'{text}' is not a build directory; run `make build` and name build")
    return text


def positive(text):
    if not re.fullmatch("[0-9]+", text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
    return int(text)


def sizes(text):
    size = "[0-9]+[KMGkmg]?"
    if not re.fullmatch(f"{size}(-{size})?(,{size}(-{size})?)*", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of sizes; use a range such as 4-16M or a list such as 4,64K,1M")
    return text
