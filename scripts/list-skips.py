#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""list-skips.py BUILD...: prints the GoogleTest cases that were skipped in these builds, grouped by reason."""
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


def main(builds):
    reasons = collections.defaultdict(list)
    for build in builds:
        for report in sorted(pathlib.Path(build, "gtest").glob("*.xml")):
            try:
                for reason, case in skipped_cases(report):
                    reasons[reason].append(case)
            except ElementTree.ParseError:
                continue  # a killed program leaves an incomplete report; ctest has already reported it
    for reason, cases in sorted(reasons.items()):
        print(f"Skipped: {reason} ({len(cases)} cases: {', '.join(cases[:3])}{', ...' if len(cases) > 3 else ''})")


if __name__ == "__main__":
    main(sys.argv[1:])
