# SPDX-License-Identifier: BSD-3-Clause
"""Types that one program may link have one definition for each name (C++'s one definition rule). Two of them need no
diagnostic, and the linker takes the members of either: std::vector<X> of one source then writes elements of the other's
size."""
import re

NAMESPACE = re.compile(r"namespace ([\w:]*) ?\{")
END = re.compile(r"\}  // namespace")
TYPE = re.compile(r"(?:struct|class|enum class|enum) (?:\S+\([^)]*\) |\[\[\w+\]\] )?([A-Z]\w*)(?: final)?(?: ?:(?!:)[^;]*)? ?\{")


def types(lines):
    """(line number, "coll::tools::Name") of types at namespace scope, those of unnamed namespaces left out."""
    scopes = []
    for number, line in enumerate(lines, 1):
        if begins := NAMESPACE.match(line):
            scopes.append(begins[1])
        elif END.match(line) and scopes:
            scopes.pop()
        elif (found := TYPE.match(line)) and scopes and "" not in scopes:
            yield number, "::".join([*scopes, found[1]])


def faults(sources):
    """`sources`: (path, lines). Only lib/ and tools/: a test is a program of its own."""
    first = {}
    for path, lines in sources:
        if path.parts[0] not in ("lib", "tools") or path.suffix not in (".h", ".cc"):
            continue
        for number, name in types(lines):
            other = first.setdefault(name, path)
            if other != path:
                yield f"{path}:{number}: {name} is defined in {other} as well; rename one, or use an unnamed namespace"
