#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares what a shared library exports with what its headers declare, both ways."""
import argparse
import pathlib
import re
import subprocess
import sys

SONAME = "libcoll.so.0"


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def declared(compiler, header):
    """Returns the names of the functions that the preprocessed header declares."""
    include = pathlib.Path(header).resolve().parents[1]  # of <coll/...>
    text = output_of(compiler, "-std=c11", "-E", "-P", "-I", include, header)
    return set(re.findall(r"\b(coll_\w+)\s*\(", text))


def exported(nm, library):
    """Returns name and version of each defined dynamic symbol, without the version nodes themselves."""
    symbols = {}
    for line in output_of(nm, "-D", "--defined-only", "--with-symbol-versions", library).splitlines():
        kind, symbol = line.split()[-2:]
        name, _, version = symbol.partition("@")
        if not (kind == "A" and name.startswith("LIBCOLL_")):
            symbols[name] = version.lstrip("@")
    return symbols


def complaints(public_names, private_names, exported_symbols, soname):
    names = public_names | private_names
    for name in sorted(names - exported_symbols.keys()):
        yield f"{name}: declared in the header but not exported; add it to lib/api/libcoll.map"
    for name in sorted(exported_symbols.keys() - names):
        yield f"{name}: exported but not declared in the header; take it out of lib/api/libcoll.map"
    for name, version in sorted(exported_symbols.items()):
        node = "LIBCOLL_PRIVATE_" if name in private_names else "LIBCOLL_"
        if not re.fullmatch(node + r"\d+\.\d+", version):
            yield f"{name}: has version '{version}', not {node}x.y"
    if soname != SONAME:
        yield f"the soname is {soname}, not {SONAME}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--readelf", default="readelf")
    parser.add_argument("header", help="of every program: its functions have a version LIBCOLL_x.y")
    parser.add_argument("shim_header", help="of the shims alone, includes the other: LIBCOLL_PRIVATE_x.y")
    parser.add_argument("library")
    arguments = parser.parse_args()

    public = declared(arguments.compiler, arguments.header)
    private = declared(arguments.compiler, arguments.shim_header) - public
    for header, names in ((arguments.header, public), (arguments.shim_header, private)):
        if not names:
            sys.exit(f"{header} declares no function named coll_*: this check would see nothing")
    soname = re.search(r"SONAME.*\[(.*)\]", output_of(arguments.readelf, "-d", arguments.library))
    symbols = exported(arguments.nm, arguments.library)
    found = list(complaints(public, private, symbols, soname.group(1) if soname else "missing"))
    print("\n".join(found) if found else f"{len(public)} public and {len(private)} private functions, all exported")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
