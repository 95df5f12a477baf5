# SPDX-License-Identifier: BSD-3-Clause
"""libcoll(7), kcoll(4) and libcoll-mpi(7) agree with the sources: every variable with every value, every parameter,
command, field, counter and tracepoint of the kernel module, every function that the MPI shims intercept."""
import os
import pathlib
import re

from cli import Case, collctl, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = os.environ["EXAMPLES"] + "/example_allreduce"


def source(name):
    return (ROOT / name).read_text()


def plain(text):
    """Words without markup, separated by one blank."""
    return " ".join(re.sub(r"[\\*_]", "", text).split())


def section(page, title):
    """The text of a section up to the next one."""
    found = re.search(rf"(?ms)^# {title}$(.*?)(?=^# |\Z)", source(f"man/{page}.scd"))
    assert found, f"{page} has no section {title}"
    return found[1]


def entries(text):
    """Definitions at the left margin: the heading's words to the text that is indented below it."""
    found = re.findall(r"(?m)^(\S[^\n]*(?:\n\S[^\n]*)*)\n((?:\t[^\n]*\n|\n(?=\t))+)", text)
    return {heading.replace("\\", "").replace("\n", " "): body for heading, body in found}


class Variables(Case):
    def setUp(self):
        self.table = self.run_json("info", "--env")

    def groups(self):
        """Variables whose values are those of another one share its entry."""
        groups = []
        for row in self.table:
            if groups and row["meaning"].startswith(f"As {groups[-1][0]['name']},"):
                groups[-1].append(row)
            else:
                groups.append([row])
        return groups

    def test_every_variable_that_the_sources_read_is_in_the_table(self):
        used = set()
        for file in [*ROOT.glob("lib/**/*.cc"), *ROOT.glob("lib/**/*.h"), *ROOT.glob("tools/**/*.cc")]:
            text = file.read_text()
            used |= set(re.findall(r'(?:getenv|variable|value|text|text_of|setting|read_switch)\("(COLL_\w+)"', text))
            used |= set(re.findall(r'variable = "(COLL_\w+)"', text))
        self.assertGreater(len(used), 20)
        self.assertEqual(used - {row["name"] for row in self.table}, set())

    def test_the_table_is_complete(self):
        for row in self.table:
            self.assertTrue(row["values"], row["name"])
            self.assertEqual(row["takes"], ", ".join(value["name"] for value in row["values"]))
            for text in [row["meaning"], row["read"], *(value["meaning"] for value in row["values"])]:
                self.assertTrue(text.endswith("."), f"{row['name']}: {text}")
            names = [value["name"] for value in row["values"]]
            self.assertEqual(len(names), len(set(names)), row["name"])

    def test_the_page_has_every_variable_with_every_value(self):
        page = section("libcoll.7", "ENVIRONMENT").split("## Variables of other programs")[0]
        text, at = plain(page), 0
        for group in self.groups():
            row = group[0]
            expected = ", ".join(one["name"] for one in group) + f" {row['meaning']} Default: {row['unset'] or 'none'}."
            expected += "" if row["in_file"] else " Environment only."
            for value in row["values"]:
                expected += f" {value['name']} {value['meaning']}"
            expected = plain(expected + f" Read by: {row['read']}")
            found = text.find(expected, at)
            self.assertNotEqual(found, -1, f"not in libcoll(7), or not in this order:\n{expected}")
            at = found + len(expected)

    def test_the_page_has_no_other_variable(self):
        headings = " ".join(entries(section("libcoll.7", "ENVIRONMENT")))
        self.assertEqual(sorted(re.findall(r"\bCOLL_\w+", headings)), sorted(row["name"] for row in self.table))

    def test_pages_name_no_unknown_variable(self):
        known = {row["name"] for row in self.table}
        for header in ("include/coll/coll.h", "include/coll/coll.hpp"):
            known |= set(re.findall(r"\bCOLL_\w+", source(header)))
        for file in ROOT.glob("man/*.scd"):
            named = set(re.findall(r"(?<![A-Z_])COLL_[A-Z0-9_]*[A-Z0-9]\b", file.read_text().replace("\\", "")))
            self.assertEqual(named - known, set(), file.name)

    def test_every_value_is_accepted(self):
        literal = re.compile(r"[a-z0-9_]+")
        tried = 0
        for row in self.table:
            for value in row["values"]:
                if literal.fullmatch(value["name"]):
                    done = collctl("run", "-n", 1, EXAMPLE, env={row["name"]: value["name"]})
                    self.assertEqual(done.returncode, 0, f"{row['name']}={value['name']}: {done.stderr}")
                    tried += 1
        self.assertGreater(tried, 30)

    def test_defaults_are_among_the_values(self):
        for row in self.table:
            names = [value["name"] for value in row["values"]]
            if row["unset"] and re.fullmatch(r"[a-z0-9]+", row["unset"]) and names[0].islower():
                self.assertIn(row["unset"], names, row["name"])


class Kcoll(Case):
    def test_every_parameter_with_its_default(self):
        text = re.sub(r'"\s*"', "", source("kmod/main.c"))  # strings of several lines
        parameters = dict(re.findall(r'MODULE_PARM_DESC\(\s*(\w+),\s*"[^"]*\(default (\w+)[;)]', text))
        self.assertEqual(len(parameters), len(re.findall(r"MODULE_PARM_DESC", text)))
        page = {name.strip("*"): body for name, body in entries(section("kcoll.4", "MODULE PARAMETERS")).items()}
        self.assertEqual(list(page), list(parameters))
        for name, default in parameters.items():
            body = plain(page[name])
            self.assertIn(f"Default {default}.", body, name)
            self.assertIn("Takes effect", body, name)
            unit = {"ms": "Milliseconds", "mb": "MiB", "max": "ytes"}.get(name.rsplit("_")[-1])
            self.assertIn(unit or "", body, name)

    def test_every_command_with_every_field(self):
        header = source("include/uapi/kcoll.h")
        commands = dict(re.findall(r"#define (KCOLL_\w+) _IOWR\(KCOLL_MAGIC, \d+, struct (\w+)\)", header))
        page = {plain(name): body for name, body in entries(section("kcoll.4", "COMMANDS")).items()}
        self.assertEqual(list(page), [plain(f"{name} (struct {struct})") for name, struct in commands.items()])
        for name, struct in commands.items():
            if name == "KCOLL_STATS":
                continue  # its fields are counters
            fields = re.search(rf"struct {struct} {{(.*?)\n}};", header, re.S)[1]
            body = page[plain(f"{name} (struct {struct})")].replace("\\", "")
            for field in re.findall(r"__[us]\d+ (\w+)", fields):
                if field not in ("size", "flags", "reserved"):
                    self.assertIn(field, body, f"{name}: {field}")

    def test_every_flag_and_feature(self):
        page = source("man/kcoll.4.scd").replace("\\", "")
        header = source("include/uapi/kcoll.h")
        for name in re.findall(r"#define (KCOLL_\w+) \(1U(?:LL)? << \d+\)", header):
            self.assertRegex(page, rf"\b{name}\b")

    def test_every_counter(self):
        counters = re.findall(r"SHOW\((\w+)\);", source("kmod/stats.c"))
        self.assertGreater(len(counters), 20)
        named = re.findall(r"\w+", " ".join(entries(section("kcoll.4", "COUNTERS"))))
        self.assertEqual(set(counters) | {"pinned_pages", "regions", "conc", "_N_"}, set(named))

    def test_every_tracepoint(self):
        events = re.findall(r"TRACE_EVENT\((\w+),", source("kmod/trace.h"))
        self.assertEqual(sorted(events), sorted(re.findall(r"\w+", " ".join(entries(section("kcoll.4", "TRACEPOINTS"))))))

    def test_every_error_is_explained(self):
        used = set()
        for file in ROOT.glob("kmod/*.c"):
            used |= set(re.findall(r"-(E[A-Z]+)\b", file.read_text()))
        explained = {name.strip("*") for name in entries(section("kcoll.4", "ERRORS"))}
        # Between functions, to io_uring, and in a fault of a task that exits, which has no caller to tell.
        internal = {"EAGAIN", "EEXIST", "EIOCBQUEUED", "ETIMEDOUT"}
        self.assertEqual(used - internal, explained - {"E2BIG"})


class Shims(Case):
    def test_every_function_that_is_intercepted(self):
        def names(*lists):
            text = source("lib/mpi/library.h")
            return [name for which in lists for name in re.findall(
                r"X\((\w+)\)", re.search(rf"#define COLL_SHIM_{which}\(X\)(.*?[^\\])\n", text, re.S)[1])]

        functions = {f"MPI_{name}" for name in names("INTERCEPTED", "STARTED", "EDGES", "WAITS", "PERSISTENT")}
        functions |= {f"MPI_{name}_init" for name in names("INITS")}
        self.assertGreater(len(functions), 20)
        headings = " ".join(entries(section("libcoll-mpi.7", "WHAT IS INTERCEPTED")))
        self.assertEqual(set(re.findall(r"\bP?MPI_\w+", headings)), functions | {"PMPI_Free_mem"})

    def test_every_reason_to_forward(self):
        names = re.search(r"why_names\[whys\] = {(.*?)};", source("lib/mpi/names.cc"), re.S)[1]
        headings = " ".join(entries(section("libcoll-mpi.7", "WHAT IS FORWARDED")))
        self.assertEqual(sorted(re.findall(r'"([^"]+)"', names)), sorted(re.findall(r"\*([^*]+)\*", headings)))


if __name__ == "__main__":
    main()
