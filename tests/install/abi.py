#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the functions of coll.h, with all their types, with the record of the last release, by libabigail's abidiff.

The record and what is compared are libraries of empty functions, made from the header and libcoll.map: libcoll.so itself
would add its internal types: millions of lines. symbols.py shows that libcoll.so exports the same functions with
the same versions, and the C++ compiler that it defines them as the header declares them.
Functions and enumerators may be added; anything else fails. Exit status 77: abidiff is missing, or another processor
than the record's, which is of x86-64."""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
RECORD = pathlib.Path(__file__).with_name("libcoll.abi")
CHANGED, FAILED = 4, 1 | 2  # bits of abidiff's exit status


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def checked(*command):
    done = run(*command)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


def definitions(compiler, header):
    """Returns the preprocessed header with an empty body for every function."""
    text = checked(compiler, "-std=c11", "-E", "-P", "-I", header.parents[1], header)
    prototype = re.compile(r"\b(coll_\w+\s*\((?:[^;{}])*\))\s*;")
    # Types of functions (typedef int (*name)(...);) have no coll_name before the parenthesis.
    text, count = prototype.subn(r"\1 { __builtin_trap(); }", text)
    if not count:
        sys.exit(f"{header} declares no function named coll_*: this check would see nothing")
    return text


def library(compiler, header, versions, folder):
    source = folder / "coll.c"
    source.write_text(definitions(compiler, header))
    # The linker ignores names that only the version script has, such as those of shim.h.
    checked(compiler, "-std=c11", "-g", "-fPIC", "-shared", "-Wl,-soname,libcoll.so.0", f"-Wl,--version-script={versions}",
            source, "-o", folder / "libcoll.so.0")
    return folder / "libcoll.so.0"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("--header", type=pathlib.Path, default=TOP / "include/coll/coll.h")
    parser.add_argument("--versions", type=pathlib.Path, default=TOP / "lib/api/libcoll.map")
    parser.add_argument("--record", type=pathlib.Path, default=RECORD)
    parser.add_argument("--update", action="store_true", help="write the record: at a release")
    arguments = parser.parse_args()
    for tool in ("abidiff", "abidw"):
        if shutil.which(tool) is None:
            print(f"skipped: {tool} is missing: apt-get install abigail-tools")
            sys.exit(77)

    target = checked(arguments.compiler, "-dumpmachine").strip()
    if not target.startswith("x86_64"):
        print(f"skipped: the record is of x86-64, the compiler is for {target}")
        sys.exit(77)

    with tempfile.TemporaryDirectory() as folder:
        made = library(arguments.compiler, arguments.header.resolve(), arguments.versions, pathlib.Path(folder))
        if arguments.update:
            checked("abidw", "--no-show-locs", "--no-corpus-path", "--no-comp-dir-path", "--out-file", arguments.record, made)
            return
        done = run("abidiff", arguments.record, made)
    added_only = done.returncode in (0, CHANGED) and not re.search(r"[1-9]\d* (Removed|Changed)", done.stdout)
    if not added_only or done.returncode & FAILED:
        print(done.stdout + done.stderr)
        sys.exit("coll.h or libcoll.map differs from the last release; docs/ABI.md says what may change")
    print(f"compatible with {arguments.record.name}" + (": functions were added" if done.returncode else ""))


if __name__ == "__main__":
    main()
