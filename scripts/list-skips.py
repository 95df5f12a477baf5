#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""list-skips.py BUILD|REPORT...: prints, grouped by reason, the GoogleTest cases that were skipped in these builds, and the
whole tests that were skipped in these reports of `ctest --output-junit`."""
import collections
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def skipped_cases(report):
    for case in ElementTree.parse(report).iter("testcase"):
        skip = case.find("skipped")
        if skip is not None:
            # GoogleTest puts "file:line" on a line of its own in front of the message.
            lines = (skip.get("message") or "").strip().splitlines()
            reason = " ".join(lines[1:] if len(lines) > 1 else lines) or "no reason given"
            yield reason, f'{case.get("classname")}.{case.get("name")}'


def skipped_tests(report):
    """A test that skips prints its reason last."""
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("skipped") is not None:
            lines = (case.findtext("system-out") or "").strip().splitlines()
            yield lines[-1] if lines else "no reason given", case.get("name")


def main(arguments):
    reasons, whole = collections.defaultdict(list), collections.defaultdict(list)
    for build in arguments:
        if pathlib.Path(build).is_file():
            for reason, test in skipped_tests(build):
                whole[reason].append(test)
            continue
        for report in sorted(pathlib.Path(build, "gtest").glob("*.xml")):
            try:
                for reason, case in skipped_cases(report):
                    reasons[reason].append(case)
            except ElementTree.ParseError:
                continue  # a killed program leaves an incomplete report; ctest has already reported it
    for reason, cases in sorted(reasons.items()):
        print(f"Skipped: {reason} ({len(cases)} cases: {', '.join(cases[:3])}{', ...' if len(cases) > 3 else ''})")
    for reason, tests in sorted(whole.items()):
        print(f"Skipped: {reason} ({len(tests)} tests: {', '.join(tests)})")


if __name__ == "__main__":
    main(sys.argv[1:])
