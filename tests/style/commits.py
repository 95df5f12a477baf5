# SPDX-License-Identifier: BSD-3-Clause
"""Subjects of commits: "area: what changes", at most 72 characters."""
import re
import subprocess

# Commits up to this one are older than the rule.
BASE = "a1500b877e01a940f79e3760ff7b5a53fcb86453"
LONGEST = 72
AREA = r"[a-z][a-z0-9_./+-]*"
FORM = re.compile(rf'{AREA}(, {AREA})*: \S|Revert "{AREA}')


class NoHistory(Exception):
    """The commits cannot be seen; the text says why."""


def git(root, *words):
    """What it prints; None if it fails or is not installed."""
    try:
        result = subprocess.run(["git", "-c", f"safe.directory={root}", "-C", root, *words], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return result.stdout if result.returncode == 0 else None


def is_checkout(root):
    """Not so an archive that was unpacked inside a checkout."""
    top = git(root, "rev-parse", "--show-toplevel")
    return top is not None and top.strip() == str(root)


def check_subject(subject):
    if len(subject) > LONGEST:
        yield f"subject of {len(subject)} characters, at most {LONGEST}: {subject}"
    if not FORM.match(subject):
        yield f"subject is not 'area: what changes': {subject}"


def faults(root, base=BASE):
    """Pairs (commit, fault) of all commits after `base` except merges. Raises NoHistory."""
    if not is_checkout(root):
        raise NoHistory("not a git checkout")
    if git(root, "merge-base", "--is-ancestor", base, "HEAD") is None:
        raise NoHistory(f"the history does not reach back to {base[:7]}")
    found = []
    for line in git(root, "log", "--no-merges", "--format=%h %s", f"{base}..HEAD").splitlines():
        commit, subject = line.split(" ", 1)
        found += [(commit, fault) for fault in check_subject(subject)]
    return found
