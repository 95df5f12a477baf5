# SPDX-License-Identifier: BSD-3-Clause
"""Prose: README.md, docs/, man/ and every directory's README.md. Private words, and lines that are too long."""
import re

import words

WIDEST = 100
WORDS = [(re.compile(rf"\b({pattern})\b".replace(" ", r"\s+"), re.IGNORECASE), instead)
         for pattern, instead in words.PRIVATE_WORDS]
# Code, link targets and addresses are not prose. Fences first: what is between them may hold single backquotes.
NOT_PROSE = re.compile(r"^```.*?^```|``.+?``|`(?:(?!\n\n)[^`])+`|\]\([^)\s]*\)|<https?://[^>]*>",
                       re.MULTILINE | re.DOTALL)


def is_prose(path):
    """README.md and CONTRIBUTING.md of any directory, Markdown in docs/, manual pages."""
    return (path.name in ("README.md", "CONTRIBUTING.md") or (path.parts[0] == "docs" and path.suffix == ".md")
            or (path.parts[0] == "man" and path.suffix == ".scd"))


def blanked(text):
    """The text with what is not prose replaced by spaces: line numbers and columns stay."""
    return NOT_PROSE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def check_words(text):
    text = blanked(text)
    for pattern, instead in WORDS:
        for match in pattern.finditer(text):
            found = " ".join(match.group().split())
            yield text.count("\n", 0, match.start()) + 1, f"'{found}': write instead: {instead}"


def check_width(path, lines):
    """At most 100 columns. Exempt: a word (an address) on a line of its own, and, except in the top README.md, tables
    and code blocks, which cannot be wrapped."""
    strict = str(path) == "README.md"
    fenced = False
    for number, line in enumerate(lines, 1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        fixed = fenced or fence or line.startswith("    ") or (path.suffix == ".md" and line.startswith("|"))
        if len(line) > WIDEST and len(line.split()) > 1 and (strict or not fixed):
            yield number, f"{len(line)} columns, at most {WIDEST}"


def faults(path, text):
    if is_prose(path):
        yield from check_words(text)
        yield from check_width(path, text.splitlines())
