# SPDX-License-Identifier: BSD-3-Clause
"""A measurement as one JSON file, with everything a reader needs to evaluate it. docs/measurements/README.md documents
the format; measurements.py renders it."""

import datetime
import json
import os
import platform
import re
import shlex
import subprocess
import sys
from pathlib import Path

FORMAT = "libcoll-measurement 1"
TOP = Path(__file__).resolve().parent.parent.parent
BUSY = 0.5  # load of other work per CPU from which a record says that it was measured under load
REQUIRED = {"format": str, "table": str, "label": str, "compares": str, "statistic": str, "unit": str, "machine": dict, "ranks": int,
            "placement": str, "versions": dict, "command": str, "rounds": (int, str), "date": str, "commit": str,
            "columns": list, "rows": dict}
OPTIONAL = {"flag_ns": (int, float, type(None)), "load": (int, float), "transcribed": bool, "notes": list}
MACHINE = {"name", "processor", "cpus", "system", "kernel", "pages"}


class Malformed(Exception):
    """A record without facts that a reader needs; the text names the fault."""


def processor_name():
    for line in open("/proc/cpuinfo", encoding="utf-8"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def system_name():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def machine(name, pages="4 KiB"):
    cpus = len(os.sched_getaffinity(0))
    return {"name": name or f"{processor_name()}, {cpus} CPUs", "processor": processor_name(), "cpus": cpus,
            "system": system_name(), "kernel": platform.release(), "pages": pages}


def output_of(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=TOP).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def version_in(text):
    found = re.search(r"\d+\.\d+(\.\d+)?\S*", text)
    return found.group() if found else None


def versions():
    """Returns the versions of libcoll and of every installed MPI library."""
    header = (TOP / "include" / "coll" / "coll.h").read_text(encoding="utf-8")
    found = {"libcoll": re.search(r'COLL_VERSION_STRING "(.+)"', header)[1],
             "Open MPI": version_in(output_of(["mpirun.openmpi", "--version"])),
             "MPICH": version_in(output_of(["mpirun.mpich", "--version"]))}
    return {name: version for name, version in found.items() if version}


def commit():
    """Returns the last commit that changed the measured code, with "+" if there are later uncommitted changes."""
    sources = ["--", "include", "lib", "bench"]
    name = output_of(["git", "log", "-1", "--format=%h", *sources]).strip()
    changed = output_of(["git", "status", "--porcelain", "--untracked-files=no", *sources])
    return name + "+" if name and changed else name or "unknown"


def command():
    """The command line of the running driver, as one types it in the top directory of the sources."""
    driver = os.path.relpath(Path(sys.argv[0]).resolve(), TOP)
    words = sys.argv[1:]
    for option in ("--record", "--machine"):  # the path of the record is no property of the measurement
        if option in words:
            at = words.index(option)
            del words[at:at + 2]
    return shlex.join([driver, *words])


def placement(ranks, flag_ns, near_ns):
    if flag_ns is None:
        return "oversubscribed" if ranks > len(os.sched_getaffinity(0)) else "unknown"
    return "one L3" if flag_ns < near_ns else "two L3s"


def circumstances(name=None, pages="4 KiB"):
    """Returns the circumstances of a measurement. Call it before the first launch, so that the load is that of other work."""
    return {"machine": machine(name, pages), "versions": versions(), "command": command(),
            "date": datetime.date.today().isoformat(), "commit": commit(), "load": round(os.getloadavg()[0], 2)}


def new(found, table, label, compares, statistic, unit, columns, rows, *, ranks, rounds, placed, flag_ns=None, notes=()):
    """A record; `found`: the circumstances()."""
    notes = list(notes)
    if found["load"] / found["machine"]["cpus"] >= BUSY:
        notes.append(f"Measured under load: the load average was {found['load']} before the first launch, on "
                     f"{found['machine']['cpus']} CPUs.")
    made = {"format": FORMAT, "table": table, "label": label, "compares": compares, "statistic": statistic,
            "unit": unit, "machine": found["machine"], "ranks": ranks, "placement": placed,
            "flag_ns": None if flag_ns is None else round(flag_ns), "versions": found["versions"],
            "command": found["command"], "rounds": rounds, "date": found["date"], "commit": found["commit"],
            "load": found["load"], "columns": list(columns),
            "rows": {row: [round(v, 3) if isinstance(v, float) else v for v in values] for row, values in rows.items()}}
    if notes:
        made["notes"] = notes
    check(made)
    return made


def check(made):
    """Raises Malformed if the record lacks facts that a reader needs."""
    for key, kind in REQUIRED.items():
        if key not in made:
            raise Malformed(f'"{key}" is missing')
    for key, value in made.items():
        kind = REQUIRED.get(key) or OPTIONAL.get(key)
        if kind is None:
            raise Malformed(f'"{key}" is not a key of the format')
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise Malformed(f'"{key}" has the wrong type')
    if made["format"] != FORMAT:
        raise Malformed(f'"format" is "{made["format"]}", not "{FORMAT}"')
    if missing := MACHINE - made["machine"].keys():
        raise Malformed(f'"machine" lacks {", ".join(sorted(missing))}')
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", made["date"]):
        raise Malformed(f'"date" is "{made["date"]}", not YYYY-MM-DD')
    for row, values in made["rows"].items():
        if len(values) != len(made["columns"]):
            raise Malformed(f'row "{row}" has {len(values)} values for {len(made["columns"])} columns')


def write(path, made):
    """Writes one key or row per line, so that a changed number is one line of a diff."""
    def line(key, value):
        if key == "rows":
            rows = ",\n".join(f"  {json.dumps(row)}: {json.dumps(values)}" for row, values in value.items())
            return f'"rows": {{\n{rows}\n }}'
        return f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"

    with open(path, "w", encoding="utf-8") as file:
        file.write("{\n " + ",\n ".join(line(key, value) for key, value in made.items()) + "\n}\n")


def add_arguments(parser):
    parser.add_argument("--record", metavar="FILE",
                        help="write the summary as a record of docs/measurements (see the README there)")
    parser.add_argument("--machine", metavar="NAME", help="name of this machine in the record, e.g. 'Zen 5 VM, 2 CPUs'")
