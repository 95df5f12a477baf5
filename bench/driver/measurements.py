#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Renders docs/measurements.md and the table of README.md from the records in docs/measurements. With --check it writes
nothing and exits with 1 when the committed text differs from what the records give."""

import argparse
import difflib
import json
import re
import sys
import textwrap
from pathlib import Path

import record

WIDTH = 100
TEMPLATE, PAGE, README = "docs/measurements/measurements.md.in", "docs/measurements.md", "README.md"
DIRECTIVE = re.compile(r"^@(records|overview) (\S+)(?: (.+))?$", re.M)
BLOCK = re.compile(r"(<!-- begin measurements: ([^;]+); ([^;]+) -->\n).*?(<!-- end measurements -->)", re.S)
HEADLINE = "under Open MPI"  # the column of the table two-ranks that README and overviews show


def read(folder):
    """{name: record}; raises record.Malformed with the file's name."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        try:
            found[path.stem] = json.loads(path.read_text(encoding="utf-8"))
            record.check(found[path.stem])
        except (json.JSONDecodeError, record.Malformed) as fault:
            raise record.Malformed(f"{path}: {fault}") from None
    return found


def newest_first(records):
    """Sorts records: measured ones before transcribed ones, then by date."""
    names = sorted(records, key=lambda name: records[name]["date"], reverse=True)
    return sorted(names, key=lambda name: records[name].get("transcribed", False))


def paragraph(text, first="", rest=""):
    return textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
                         break_on_hyphens=False)


def number(value):
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def table(heads, rows):
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows]
    lines = [" ".join("| " + number(cell) if number(cell) else "|" for cell in line) + " |" for line in lines]
    for line in lines:
        if len(line) > WIDTH:
            raise record.Malformed(f"a line of a table has {len(line)} columns, more than {WIDTH}: {line}")
    return "\n".join(lines)


def capital(text):
    return text[:1].upper() + text[1:]


def provenance(name, made):
    """Returns a list of the facts of a record: what the numbers compare, and what is needed to evaluate or repeat them."""
    machine = made["machine"]
    flag = f", one-way flag latency {made['flag_ns']} ns" if made.get("flag_ns") else ""
    versions = ", ".join(f"{library} {version}" for library, version in made["versions"].items())
    when = f"{made['date']}, commit {made['commit']}"
    if made.get("transcribed"):
        when += " (the commit that first published the numbers); transcribed from an earlier edition of this page"
    items = [f"Compares: {made['compares']}. {capital(made['statistic'])}; unit: {made['unit']}.",
             f"Machine: {machine['processor']}, {machine['cpus']} CPUs, {machine['system']}, Linux {machine['kernel']}, "
             f"{machine['pages']} pages; placement: {made['placement']}{flag}.",
             f"Versions: {versions}. Rounds: {made['rounds']}. Date: {when}.",
             f"Command: `{made['command']}`",
             f"Record: [measurements/{name}.json](measurements/{name}.json)"]
    return "\n".join(paragraph(item, "- ", "  ") for item in [*items, *made.get("notes", [])])


def render_records(records, section):
    names = [name for name in newest_first(records) if records[name]["table"] == section]
    if not names:
        raise record.Malformed(f"no record is of the table {section}")
    parts = []
    for name in names:
        made = records[name]
        rows = [[row, *values] for row, values in made["rows"].items()]
        parts.append(f"### {made['label']}\n\n{table(['', *made['columns']], rows)}\n\n{provenance(name, made)}")
    return "\n\n".join(parts)


def render_overview(records, section, placement):
    """Returns a table with the headline column of each record of one placement."""
    names = [name for name in newest_first(records) if records[name]["table"] == section and
             records[name]["placement"] == placement and HEADLINE in records[name]["columns"]]
    found = [records[name] for name in names]
    rows = dict.fromkeys(row for made in found for row in made["rows"])
    heads = [made["machine"]["name"] + ("" if made.get("transcribed") else f", {made['date']}") for made in found]
    at = [made["columns"].index(HEADLINE) for made in found]
    return table(["", *heads], [[row, *(made["rows"][row][i] if row in made["rows"] else "-"
                                        for made, i in zip(found, at))] for row in rows])


def render_page(template, records):
    shown = {match[2] for match in DIRECTIVE.finditer(template) if match[1] == "records"}
    if lost := {made["table"] for made in records.values()} - shown:
        raise record.Malformed(f"{TEMPLATE} shows no records of the table {', '.join(sorted(lost))}")

    def expand(match):
        kind, section, rest = match.groups()
        return render_records(records, section) if kind == "records" else render_overview(records, section, rest)

    return DIRECTIVE.sub(expand, template)


def render_headline(records, names, collectives):
    """Returns the table of README.md. Its caption names what is compared, where and how."""
    unknown = [name for name in names if name not in records]
    if unknown:
        raise record.Malformed(f"{README} names records that are not there: {', '.join(unknown)}")
    found = [records[name] for name in names]
    first = found[0]
    for made in found:
        for key in ("machine", "versions", "statistic", "compares", "ranks"):
            if made[key] != first[key]:
                raise record.Malformed(f'{README} shows records that differ in "{key}": {", ".join(names)}')
    baselines = re.fullmatch(r"Time of (.+), divided by the time of libcoll", first["compares"])
    if not baselines:
        raise record.Malformed(f'{README} needs records whose "compares" is "Time of ..., divided by the time of '
                               f'libcoll": {", ".join(names)}')
    over = baselines[1]
    for name, version in first["versions"].items():
        over = over.replace(name, f"{name} {version}", 1)
    places = "; ".join(f"{made['placement']}: one-way flag latency {made['flag_ns']} ns" for made in found)
    caption = (f"Speedup of libcoll, preloaded under Open MPI, over {over} as packaged in "
               f"{first['machine']['system']}, measured side by side with {first['ranks']} ranks on "
               f"{first['machine']['cpus']} cores ({first['machine']['processor']}). Values above 1 mean that libcoll is "
               f"faster. Each value is the {first['statistic']}. The rows differ in where the two cores are "
               f"({places}).")
    rows = [[f"cores on {made['placement']}",
             *(made["rows"][collective][made["columns"].index(HEADLINE)] for collective in collectives)] for made in found]
    return paragraph(caption) + "\n\n" + table(["", *collectives], rows) + "\n"


def render_readme(text, records):
    if not BLOCK.search(text):
        raise record.Malformed(f"{README} has no lines '<!-- begin measurements: RECORDS; COLLECTIVES -->' and "
                               "'<!-- end measurements -->'")
    return BLOCK.sub(lambda m: m[1] + render_headline(records, m[2].split(), m[3].split()) + m[4], text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 when a file would change")
    parser.add_argument("--top", type=Path, default=record.TOP, help="directory of the sources")
    options = parser.parse_args()
    try:
        records = read(options.top / "docs" / "measurements")
        old = {name: (options.top / name).read_text(encoding="utf-8") for name in (README, TEMPLATE)}
        made = {PAGE: render_page(old[TEMPLATE], records), README: render_readme(old[README], records)}
    except (OSError, record.Malformed) as fault:
        print(f"measurements.py: {fault}", file=sys.stderr)
        return 1
    changed = 0
    for name, text in made.items():
        path = options.top / name
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if text == before:
            continue
        changed += 1
        if options.check:
            print("".join(difflib.unified_diff(before.splitlines(True), text.splitlines(True), name, "from the records")))
        else:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    if changed and options.check:
        print("The text above differs from the records: run bench/driver/measurements.py and commit what it writes.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
