#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""contracts.py HEADER...: the comment above every function, or above its family, states errors and thread safety.

A family is a run of declarations without an empty line. Only statuses that the headers define may be named as errors.
"""
import pathlib
import re
import sys

COMMENT = re.compile(r"/\*(.*?)\*/", re.S)
FUNCTION = re.compile(r"^[a-z][\w *]*?\b(coll_\w+)\(", re.M)


def families(text):
    """Pairs of a comment, "" for none, and the names of the functions right below it."""
    comment = ""
    for block in re.split(r"\n\s*\n", text):
        comments = list(COMMENT.finditer(block))
        code = COMMENT.sub("", block)
        names = [] if re.search(r"^(typedef|enum)", code, re.M) else FUNCTION.findall(code)
        if comments:
            comment = re.sub(r"\s*\n \*\s?", " ", comments[-1].group(1))
        if names:
            yield comment, names
            comment = ""


def complaints(text, statuses):
    for comment, names in families(text):
        for word in ("Errors:", "Thread safety:"):
            if word not in comment:
                yield f"{names[0]}: its comment does not say '{word}'"
        listed = re.search(r"Errors:(.*?)Thread safety:", comment)
        for name in re.findall(r"\b[A-Z][A-Z_]+\b", listed.group(1) if listed else ""):
            if name not in statuses and name != "NULL" and not name.startswith("COLL_"):  # variables
                yield f"{names[0]}: {name} is not a status"


def main():
    texts = {path: pathlib.Path(path).read_text() for path in sys.argv[1:]}
    statuses = {name for text in texts.values() for name in re.findall(r"\bCOLL_ERR_(\w+)", text)}
    functions = sum(len(names) for text in texts.values() for _, names in families(text))
    if functions == 0 or not statuses:
        sys.exit("no functions or no statuses in these headers: this check would see nothing")
    found = [f"{path}: {what}" for path, text in texts.items() for what in complaints(text, statuses)]
    print("\n".join(found) if found else f"{functions} functions with errors and thread safety")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
