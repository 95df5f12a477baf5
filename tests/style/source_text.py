# SPDX-License-Identifier: BSD-3-Clause
"""Splits a source file into comments, texts in quotes and names: C, C++, JavaScript, Python, shell, CMake, make.

A scanner by regular expressions, not a parser: it decides only what is comment, what is text and what is code. Line numbers
count from 1."""
import io
import pathlib
import re
import tokenize

C_SUFFIXES = {".c", ".cc", ".h", ".hpp", ".js"}
SHELL_SUFFIXES = {".sh", ".cmake", ".mk"}
SHELL_NAMES = {"CMakeLists.txt", "Makefile", "Kbuild"}
NAME = re.compile(r"[^\W\d]\w*")
# A digit separator (1'000) is no quote. Regular expressions of JavaScript are not known: a quote in one hides a line at most.
C_TOKEN = re.compile(
    r"""(?P<comment>//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/)
      | (?P<text>(?:u8|[uUL])?R"(?P<raw>[^(\s]*)\(.*?\)(?P=raw)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])*')""",
    re.DOTALL | re.VERBOSE)
# `#` begins a comment at the begin of a word only: not in $# or ${name#prefix}. A text does not end with its line.
SHELL_TOKEN = re.compile(
    r"""(?P<comment>(?:(?<=\s)|^)\#[^\n]*)
      | (?P<text>"(?:\\.|[^"\\])*"|(?<!\\)'[^']*')
      | \\.""",
    re.DOTALL | re.VERBOSE | re.MULTILINE)


def language(path, text):
    """"c", "python", "shell" or None."""
    path = pathlib.PurePosixPath(path)
    if path.suffix in C_SUFFIXES:
        return "c"
    first = text.split("\n", 1)[0] if text.startswith("#!") else ""
    if path.suffix == ".py" or "python" in first:
        return "python"
    if path.suffix in SHELL_SUFFIXES or path.name in SHELL_NAMES or re.search(r"\b(ba|da)?sh\b", first):
        return "shell"
    return None


class Source:
    """comments and texts: [(line, text)], without the marks of a comment; names: [(line, name)]."""

    def __init__(self, path, text):
        self.comments, self.texts, self.names = [], [], []
        kind = language(path, text)
        if kind == "python":
            self._python(text)
        elif kind is not None:
            self._scan(text, C_TOKEN if kind == "c" else SHELL_TOKEN)

    def _scan(self, text, token):
        code, line, end = [], 1, 0
        for match in token.finditer(text):
            before = text[end:match.start()]
            code.append((line, before))
            line += before.count("\n")
            if match.lastgroup is not None:
                found = match.group()
                (self.comments if match["comment"] is not None else self.texts).append((line, found))
            line += match.group().count("\n")
            end = match.end()
        code.append((line, text[end:]))
        self._names(code)
        self.comments = _joined(self.comments)

    def _names(self, code):
        for first, part in code:
            for offset, line in enumerate(part.split("\n")):
                self.names += [(first + offset, name) for name in NAME.findall(line)]

    def _python(self, text):
        previous = tokenize.NEWLINE
        for token in _python_tokens(text):
            line = token.start[0]
            if token.type == tokenize.COMMENT:
                self.comments.append((line, token.string))
            elif token.type == tokenize.NAME:
                self.names.append((line, token.string))
            elif token.type in (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)):
                docstring = previous in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
                (self.comments if docstring else self.texts).append((line, token.string))
            if token.type not in (tokenize.NL, tokenize.COMMENT):
                previous = token.type
        self.comments = _joined(self.comments)


def _python_tokens(text):
    try:
        yield from tokenize.generate_tokens(io.StringIO(text).readline)
    except (SyntaxError, tokenize.TokenError):  # the rest of a broken file is for the interpreter to refuse
        return


def _joined(comments):
    """Comments in neighbouring lines are one text, so that phrases are found across line breaks. Marks become spaces."""
    joined, next_line = [], 0
    for line, text in comments:
        text = re.sub(r"^([ \t]*)(//+|/\*+|\*+/|\*|\#+)", lambda mark: re.sub(r"\S", " ", mark.group()), text, flags=re.MULTILINE)
        if joined and line == next_line:
            joined[-1] = (joined[-1][0], joined[-1][1] + "\n" + text)
        else:
            joined.append((line, text))
        next_line = line + text.count("\n") + 1
    return joined
