# SPDX-License-Identifier: BSD-3-Clause
"""The documents of the project and their contents."""

import dataclasses
import re
from pathlib import Path

FENCE = re.compile(r"^(```+)(.*)$")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def pages(top):
    """Returns README.md and the other top documents, and all of docs/."""
    named = [top / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md", "bench/README.md")]
    return named + sorted((top / "docs").rglob("*.md"))


@dataclasses.dataclass
class Block:
    path: Path
    line: int       # of the opening fence, from 1
    language: str
    text: list      # of lines
    before: str     # the line before the fence


def blocks(path):
    found, opened = [], None
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        fence = FENCE.match(line)
        if opened is None and fence:
            opened = Block(path, number, fence[2].strip(), [], lines[number - 2] if number > 1 else "")
        elif opened is not None and fence and not fence[2]:
            found.append(opened)
            opened = None
        elif opened is not None:
            opened.text.append(line)
    if opened is not None:
        raise ValueError(f"{path}:{opened.line}: the block is not closed")
    return found


def prose(path):
    """[(number, line)] outside of fenced blocks."""
    inside, found = False, []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if FENCE.match(line):
            inside = not inside
        elif not inside:
            found.append((number, line))
    return found


def anchors(path):
    """Returns the names of headings in links: lower case, without punctuation, hyphens for spaces."""
    found = set()  # a repeated heading gets a number
    for _, line in prose(path):
        if heading := re.match(r"#+ +(.*)", line):
            text = re.sub(r"[^\w\- ]", "", heading[1].replace("`", "")).strip().lower()
            name = text.replace(" ", "-")
            found.add(next(n for n in (name, *(f"{name}-{i}" for i in range(1, 99))) if n not in found))
    return found


def links(path):
    """[(number, target)] of links within the project."""
    return [(number, target) for number, line in prose(path) for target in LINK.findall(line)
            if "://" not in target]
