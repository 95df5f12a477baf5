# SPDX-License-Identifier: BSD-3-Clause
"""One version, of the library and of the kernel module: CMakeLists.txt says it, and these lines repeat it, because what
reads them (a compiler, dkms, pip, a reader) reads nothing else. The same for the oldest hwloc that libcoll accepts."""
import datetime
import re

SOURCE = ("CMakeLists.txt", r"^project\(libcoll VERSION ([\d.]+)")
COPIES = (
    ("include/coll/coll.h", r'^#define COLL_VERSION_STRING "([\d.]+)"'),
    ("dkms.conf", r'^PACKAGE_VERSION="([\d.]+)"'),
    ("dkms.conf", r"dkms install kcoll/([\d.]+\d)"),
    ("kmod/main.c", r'^MODULE_VERSION\("([\d.]+)"\)'),
    ("kmod/README.md", r"dkms install kcoll/([\d.]+\d)"),
    ("docs/admin-guide.md", r"dkms install kcoll/([\d.]+\d)"),
    ("python/pyproject.toml", r'^version = "([\d.]+)"'),
    ("torch/pyproject.toml", r'^version = "([\d.]+)"'),
    ("torch/CMakeLists.txt", r"^project\(torch_coll VERSION ([\d.]+)"),
    ("CHANGELOG.md", r"\A(?:(?!## ).*\n)*## ([\d.]+)"),
    ("packages/debian/changelog", r"\Alibcoll \((.*)-[0-9]+\)"),
    ("packages/rpm/libcoll.spec", r"^Version: *([\d.]+)"),
    ("packages/rpm/libcoll.spec", r"^%global kcoll_version ([\d.]+)"),
    ("packages/recipes/spack.py", r"libcoll-([\d.]+\d)\.tar"),
    ("packages/recipes/libcoll.eb", r"^version = '([\d.]+)'"),
    ("packages/recipes/conda.yaml", r'^  version: "([\d.]+)"'),
    ("README.md", r"^.*This is version (\d+\.\d+\.\d+)"),
)
HWLOC_SOURCE = ("cmake/CollDependencies.cmake", r"^set\(COLL_HWLOC_VERSION ([\d.]+)\)")
HWLOC_COPIES = (
    ("docs/admin-guide.md", r"^\| the library \| hwloc ([\d.]+),"),
    ("packages/debian/control", r"\blibhwloc-dev \(>= ([\d.]+)\)"),
    ("packages/rpm/libcoll.spec", r"^BuildRequires: *hwloc-devel >= ([\d.]+)"),
    ("packages/recipes/spack.py", r'"hwloc@([\d.]+):"'),
    ("packages/recipes/conda.yaml", r"^ *- libhwloc >=([\d.]+)"),
)
NUMBERS = ("MAJOR", "MINOR", "PATCH")
# The day of the newest entry, as each file writes it. Before a release CHANGELOG.md says "unreleased".
RELEASED = ("CHANGELOG.md", r"\A(?:(?!## ).*\n)*## [\d.]+ \((\d{4}-\d\d-\d\d)\)", "%Y-%m-%d")
DAYS = (
    ("packages/debian/changelog", r"\A(?:(?! -- ).*\n)* -- .*  (\w{3}, \d\d \w{3} \d{4}) ", "%a, %d %b %Y"),
    ("packages/rpm/libcoll.spec", r"^%changelog\n\* (\w{3} \w{3} \d\d \d{4}) ", "%a %b %d %Y"),
)


def found(root, path, pattern):
    """(line, version) for each match; nothing in a tree without the file."""
    file = root / path
    if file.is_file():
        text = file.read_text(errors="replace")
        for match in re.finditer(pattern, text, re.MULTILINE):
            yield text.count("\n", 0, match.start(1)) + 1, match.group(1)


def first(root, source):
    return next((version for _, version in found(root, *source)), None)


def faults(root):
    version = first(root, SOURCE)
    if version is not None:
        numbers = zip(NUMBERS, version.split("."))
        wanted = [(path, pattern, version) for path, pattern in COPIES]
        wanted += [("include/coll/coll.h", rf"^#define COLL_VERSION_{name} (\d+)", number) for name, number in numbers]
        yield from faults_of_copies(root, "version", wanted, f"{SOURCE[0]} says {version}")
        yield from faults_of_days(root)
    hwloc = first(root, HWLOC_SOURCE)
    if hwloc is None and (root / HWLOC_SOURCE[0]).is_file():
        yield HWLOC_SOURCE[0], 1, f"no line with the version of hwloc, such as /{HWLOC_SOURCE[1]}/"
    if hwloc is not None:
        wanted = [(path, pattern, hwloc) for path, pattern in HWLOC_COPIES]
        yield from faults_of_copies(root, "version of hwloc", wanted, f"{HWLOC_SOURCE[0]} says {hwloc}")


def faults_of_copies(root, name, wanted, source):
    for path, pattern, expected in wanted:
        lines = list(found(root, path, pattern))
        if not lines and (root / path).is_file():
            yield path, 1, f"no line with the {name}, such as /{pattern}/"
        for line, version_here in lines:
            if version_here != expected:
                yield path, line, f"{name} {version_here}; {source}"


def faults_of_days(root):
    for _, day in found(root, *RELEASED[:2]):
        released = datetime.datetime.strptime(day, RELEASED[2])
        for path, pattern, form in DAYS:
            lines = list(found(root, path, pattern))
            if not lines and (root / path).is_file():
                yield path, 1, f"no line with the day of the release, such as /{pattern}/"
            for line, day_here in lines:
                # Compared as text, because strptime() accepts any day of the week.
                if day_here != released.strftime(form):
                    yield path, line, f"released on '{day_here}'; {RELEASED[0]} says {day}"
