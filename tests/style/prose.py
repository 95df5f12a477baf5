# SPDX-License-Identifier: BSD-3-Clause
"""Words: refuses private ones in documents, in comments and messages of sources, and in names; and long lines of documents."""
import functools
import re

import source_text
import words

WIDEST = 100
WORDS = [(re.compile(rf"\b({pattern})\b".replace(" ", r"\s+"), re.IGNORECASE), instead)
         for pattern, instead in words.PRIVATE_WORDS]
NAME_WORDS = [(re.compile(f"_({pattern})_"), instead) for pattern, instead in words.NAME_WORDS]
FIELD_NAMES = re.compile(f"_({'|'.join(words.FIELD_NAMES)})(?=_)")
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


def find_words(text):
    """(line, word, message) for each private word."""
    text = blanked(text)
    for pattern, instead in WORDS:
        for match in pattern.finditer(text):
            found = " ".join(match.group().split())
            yield text.count("\n", 0, match.start()) + 1, found, f"'{found}': write instead: {instead}"


def check_words(text):
    for number, _, message in find_words(text):
        yield number, message


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


@functools.lru_cache(maxsize=None)
def check_name(name):
    """The first private word of a name and what to write instead; None if there is none."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)
    snake = FIELD_NAMES.sub("", f"_{'_'.join(parts)}_".lower())
    for pattern, instead in NAME_WORDS:
        if match := pattern.search(snake):
            return match.group(1), instead
    return None


def check_source(path, text):
    """(line, word, name, message) for each private word in a file's name, comments, texts in quotes and names; `name` is
    "" in comments and texts."""
    if found := check_name(path.name):
        yield 1, found[0], path.name, f"'{found[0]}' in the name of the file: write instead: {found[1]}"
    source = source_text.Source(path, text)
    for first, part in source.comments + source.texts:
        for number, word, message in find_words(part):
            yield first + number - 1, word, "", message
    for line, name in source.names:
        if found := check_name(name):
            yield line, found[0], name, f"'{found[0]}' in the name {name}: write instead: {found[1]}"


class Exceptions:
    """words.EXCEPTIONS, and which of them have allowed a fault."""

    def __init__(self, entries=tuple(words.EXCEPTIONS)):
        self.entries = entries
        self.used = set()

    def allow(self, path, word, name):
        found = {entry for entry in self.entries
                 if str(path).startswith(entry[0]) and entry[1] in ("*", word.lower(), name)}
        self.used |= found
        return bool(found)

    def unused(self):
        for place, allowed, _ in [entry for entry in self.entries if entry not in self.used]:
            yield f"tests/style/words.py: the exception of '{allowed}' in {place or 'all files'} allows nothing: remove it"


def source_faults(path, text, exceptions):
    """Of a source file, without what the exceptions allow."""
    for line, word, name, message in check_source(path, text):
        if not exceptions.allow(path, word, name):
            yield line, message


def faults(path, text):
    """Of a document."""
    if is_prose(path):
        yield from check_words(text)
        yield from check_width(path, text.splitlines())
