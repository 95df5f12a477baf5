#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check.py ROOT: layers, licences, sizes, version and READMEs of the sources, one definition of each type, the words of
documents, comments and names, the width of documents, subjects of commits.
Prints one line per fault, "path:line: what"."""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import atomics
import commits
import layers
import one_definition
import prose
import versions

SOURCE_SUFFIXES = {".c", ".cc", ".h", ".hpp", ".py", ".sh", ".cmake", ".map", ".in", ".f90"}
SOURCE_NAMES = {"CMakeLists.txt", "Makefile", "Kbuild", ".clang-format"}
CODE_SUFFIXES = {".c", ".cc", ".h", ".hpp"}
# What .gitignore leaves out.
BUILT = re.compile(r"^(build[^/]*|\.git|\.cache)/|(^|/)__pycache__/|\.k?o$|(^|/)compile_commands\.json$")
LONGEST = 500
LONG_REASON = "Why this file is long:"
# Every directory below these with sources in it says in a README.md what lives there.
README_ROOTS = ("lib", "tools", "tests", "bench", "kmod", "scripts", "packages")


def tracked_files(root):
    """Files of the checkout, new ones too; in an unpacked archive all but build directories."""
    if commits.is_checkout(root):
        names = commits.git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    else:
        names = [str(path.relative_to(root)) for path in root.rglob("*")]
        names = [name for name in names if not BUILT.search(name)]
    return sorted(pathlib.PurePosixPath(name) for name in names if name and (root / name).is_file())


def is_source(root, path):
    if path.suffix in SOURCE_SUFFIXES or path.name in SOURCE_NAMES:
        return True
    with open(root / path, "rb") as file:
        return file.read(2) == b"#!"


def is_binary(root, path):
    with open(root / path, "rb") as file:
        return b"\0" in file.read(8192)


def is_screenshot(path):
    """Pictures of collctl report, which a test makes (docs/README.md)."""
    return path.match("docs/report-*.png")


def licence_of(path):
    if str(path) == "lib/mpi/abi/mpi.h":  # not of this project
        return r"MIT"
    if path.parts[:2] == ("include", "uapi"):
        return r"GPL-2\.0(-only)? WITH Linux-syscall-note"
    if path.parts[0] == "kmod":
        return r"GPL-2\.0(-only|-or-later)?"
    return r"BSD-3-Clause"


def check_licence(path, lines):
    found = re.search(r"SPDX-License-" r"Identifier: ([^*\n]*?)\s*(\*/|-->)?$", "\n".join(lines[:5]), re.MULTILINE)
    if not found:
        yield 1, "no SPDX-License-Identifier in the first five lines"
    elif not re.fullmatch(licence_of(path), found.group(1)):
        yield 1, f"licence {found.group(1)}, expected here: {licence_of(path)}".replace("\\", "")


def check_length(path, lines):
    if len(lines) > LONGEST and not any(LONG_REASON in line for line in lines[:40]):
        yield len(lines), f"{len(lines)} lines; split it, or say near its top '{LONG_REASON} ...'"


def layer_of(path):
    if path.parts[0] == "lib" and len(path.parts) > 2:
        return path.parts[1]
    return "tools" if path.parts[0] == "tools" else None


def check_includes(path, lines):
    layer = layer_of(path)
    if layer is None:
        return
    if layer not in layers.ARROWS:
        yield 1, f"lib/{layer} is not in the table of tests/style/layers.py"
        return
    allowed = layers.allowed(layer)
    for number, line in enumerate(lines, 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not match:
            continue
        quote, header = match.groups()
        first = header.split("/")[0]
        keeper = next((place for kept, place in layers.KEPT_BY.items() if first in (kept, f"{kept}.h")), None)
        if keeper and quote == "<" and not str(path).startswith(keeper):
            yield number, f"<{header}> belongs to {keeper} alone"
        elif first == "uapi" and layer not in layers.UAPI_USERS:
            yield number, f"lib/{layer} may not know the kernel interface"
        elif header.startswith(".") or (quote == '"' and "/" not in header):
            start, folder = ("the root", path.parent) if layer == "tools" else ("lib/", layer)
            yield number, f'"{header}": write includes from {start} ("{folder}/{header.lstrip("./")}")'
        elif quote == '"' and first in layers.ARROWS and first not in allowed:
            yield number, f"{layer} may not include {first}/ (it may: {', '.join(sorted(allowed))})"


def check_waiting(path, lines):
    if path.parts[0] != "lib" or str(path).startswith(layers.WAITING_KEPT_BY):
        return
    for number, line in enumerate(lines, 1):
        for word in re.findall(r"\w+", line.split("//")[0]):
            if word in layers.WAITING:
                yield number, f"{word}: only {layers.WAITING_KEPT_BY} waits; use a sync::Backoff, or call sync/system_wait.h"


def check_public_header(path, lines):
    """include/coll knows nothing of this project but itself."""
    if path.parts[:2] != ("include", "coll"):
        return
    for number, line in enumerate(lines, 1):
        match = re.match(r'\s*#\s*include\s*[<"]([^>"]+/[^>"]+)[>"]', line)
        if match and match.group(1).split("/")[0] not in ("coll", "sys"):
            yield number, f"a public header may not include {match.group(1)}"


def check_table_of_layers(root):
    """The table of lib/README.md says what layers.py says: `directory`, contents, what it may include."""
    file = root / "lib" / "README.md"
    if not file.is_file():
        return
    rows = {row[1]: (number, row[2].replace(",", " ").split())
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1)
            if (row := re.match(r"\| `(\w+)` \|.*\|([^|]*)\|$", line))}
    for layer, arrows in layers.ARROWS.items():
        if layer == "tools" or not rows:
            continue
        number, listed = rows.get(layer, (1, None))
        if listed is None:
            yield number, f"no row for {layer}"
        elif sorted(listed) != sorted(arrows):
            yield number, f"{layer} may include: {', '.join(arrows) or 'nothing'}, says tests/style/layers.py"


def check_readmes(root, sources):
    """A README.md for each directory; below the top ones a line about it in the parent's README.md will do."""
    for folder in sorted({path.parent for path in sources if path.parts[0] in README_ROOTS}):
        if folder == pathlib.PurePosixPath("lib") or (root / folder / "README.md").is_file():
            continue
        above = root / folder.parent / "README.md"
        if len(folder.parts) > 1 and above.is_file() and f"`{folder.name}/`" in above.read_text(errors="replace"):
            continue
        yield folder, "no README.md that says what lives here and what it may know"


def faults(root):
    files = tracked_files(root)
    sources = [path for path in files if is_source(root, path)]
    for path in files:
        if is_binary(root, path) and not is_screenshot(path):
            yield f"{path}: a binary file, which cannot be reviewed; commit its source"
    for path in filter(prose.is_prose, files):
        for number, text in prose.faults(path, (root / path).read_text(errors="replace")):
            yield f"{path}:{number}: {text}"
    exceptions = prose.Exceptions()
    for path in sources:
        text = (root / path).read_text(errors="replace")
        for number, fault in prose.source_faults(path, text, exceptions):
            yield f"{path}:{number}: {fault}"
        lines = text.splitlines()
        for check in (check_licence, check_length):
            for number, text in check(path, lines):
                yield f"{path}:{number}: {text}"
        if path.suffix in CODE_SUFFIXES:
            for check in (check_includes, check_waiting, check_public_header):
                for number, text in check(path, lines):
                    yield f"{path}:{number}: {text}"
    if pathlib.Path(__file__).is_relative_to(root):  # another tree need not have the words that are allowed in this one
        yield from exceptions.unused()
    yield from one_definition.faults((path, (root / path).read_text(errors="replace").splitlines()) for path in sources)
    for number, text in check_table_of_layers(root):
        yield f"lib/README.md:{number}: {text}"
    for path, number, text in [*versions.faults(root), *atomics.faults(root)]:
        yield f"{path}:{number}: {text}"
    for folder, text in check_readmes(root, sources):
        yield f"{folder}/: {text}"
    if not sources:
        yield f"{root}: no sources found, so nothing was checked"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = list(faults(root))
    try:
        found += [f"commit {commit}: {fault}" for commit, fault in commits.faults(root)]
    except commits.NoHistory as why:
        print(f"not checked: subjects of commits, because {why}", file=sys.stderr)
    print("\n".join(found) if found else "layers, licences, lengths, READMEs, prose and commits: all in order")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
