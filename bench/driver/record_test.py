# SPDX-License-Identifier: BSD-3-Clause
"""Records of measurements, and what is rendered from them."""

import copy
import json
import tempfile
import unittest
from pathlib import Path

import compare
import measurements
import overhead
import peers
import programs
import record
import report
import statistics_of_rounds as stats

CIRCUMSTANCES = {"machine": {"name": "Box", "processor": "CPU", "cpus": 2, "system": "Debian 12", "kernel": "6.1",
                             "pages": "4 KiB"},
                 "versions": {"libcoll": "0.2.0", "Open MPI": "4.1.4", "MPICH": "4.0.2"},
                 "command": "bench/driver/compare.py build", "date": "2026-01-02", "commit": "abc1234", "load": 0.1}


def made(**other):
    values = dict(CIRCUMSTANCES, load=other.pop("load", 0.1))
    return record.new(values, "two-ranks", other.pop("label", "Box, one L3"), "Time of the fastest of Open MPI and MPICH, divided by the time of libcoll",
                      "geometric mean", "ratio", ["under Open MPI"], {"bcast": [2.0], "scan": [1.5]}, ranks=2, rounds=3,
                      placed=other.pop("placed", "one L3"), flag_ns=50.4, **other)


class Options:
    circumstances, ranks, rounds, versus = CIRCUMSTANCES, 2, 3, "fastest"


class Format(unittest.TestCase):
    def test_a_record_survives_writing_and_reading(self):
        with tempfile.TemporaryDirectory() as folder:
            record.write(f"{folder}/box.json", made())
            self.assertEqual(measurements.read(Path(folder)), {"box": made()})

    def test_record_without_required_facts_is_refused_with_the_file(self):
        for key, value, fault in (("compares", None, '"compares" is missing'), ("rounds", [3], '"rounds" has the wrong'),
                                  ("date", "yesterday", "YYYY-MM-DD"), ("remark", "x", '"remark" is not a key'),
                                  ("rows", {"bcast": [1, 2]}, "2 values for 1 columns"), ("format", "x", '"format"'),
                                  ("machine", {"name": "Box"}, "lacks cpus")):
            wrong = copy.deepcopy(made())
            if value is None:
                del wrong[key]
            else:
                wrong[key] = value
            with tempfile.TemporaryDirectory() as folder, self.subTest(key):
                Path(folder, "box.json").write_text(json.dumps(wrong), encoding="utf-8")
                with self.assertRaisesRegex(record.Malformed, f"box.json.*{fault}"):
                    measurements.read(Path(folder))

    def test_a_loaded_machine_is_named_in_the_notes(self):
        self.assertNotIn("notes", made(load=0.2))
        self.assertIn("under load", made(load=1.5)["notes"][0])

    def test_placement_follows_from_the_flag(self):
        self.assertEqual(record.placement(2, 47.0, stats.NEAR_NS), "one L3")
        self.assertEqual(record.placement(2, 197.0, stats.NEAR_NS), "two L3s")
        self.assertEqual(record.placement(1 << 20, None, stats.NEAR_NS), "oversubscribed")


class Drivers(unittest.TestCase):
    def test_compare_records_the_means_of_its_verdicts(self):
        table = {("bcast", 4): {"openmpi": 4.0, "coll+openmpi": 1.0}, ("bcast", 64): {"openmpi": 1.0, "coll+openmpi": 1.0},
                 ("scan", 4096): {"openmpi": 3.0, "coll+openmpi": 1.0}, ("scan", 4): {"openmpi": 9.0, "coll+openmpi": 1.0}}
        found = compare.new_record(table, {"coll+openmpi": ["openmpi"]}, Options, 47.0)
        self.assertEqual((found["table"], found["columns"]), ("two-ranks", ["under Open MPI"]))
        self.assertEqual(found["rows"], {"bcast": [2.0], "scan": [3.0]})
        self.assertEqual(found["placement"], "one L3")

    def test_the_mean_is_described_by_its_sizes(self):
        table = {("bcast", 4): {}, ("bcast", 4 << 20): {}, ("scan", 4): {}, ("scan", 4096): {}, ("scan", 16 << 20): {},
                 ("gather", 4096): {}}
        self.assertEqual(report.mean_over(table),
                         "geometric mean over 4 KiB to 4 KiB per rank (bcast: 4 B to 4 MiB)")

    def test_peers_records_a_row_for_each_kind_of_memory(self):
        table = {("bcast", 65536): {"openmpi": 3.0, "openmpi-sm": 2.0, "coll": 1.0, "limit": 0.5},
                 ("reduce", 65536): {"openmpi": 3.0, "openmpi-sm": 0.5, "coll": 1.0, "limit": 1.0}}
        found = peers.new_record(table, ["coll"], ["openmpi", "openmpi-sm"], Options, 197.0)
        self.assertEqual(found["rows"], {"malloc": [2.0, 0.5, 3.0, "1 of 2", round(2 ** 0.5, 3)]})
        self.assertEqual(found["notes"], ["Slower with malloc: reduce of 64 KiB (0.50)."])


    def test_overhead_records_a_column_for_each_binding(self):
        found = {"MPICH, C": {("bcast", "taken"): 6.04, ("bcast", "alone"): 5.0, ("scan", "alone"): 4.0}}
        made = overhead.new_record(found, Options, CIRCUMSTANCES)
        self.assertEqual((made["columns"], made["rows"]), (["MPICH, C"], {"bcast": ["6.0 / 5.0"], "scan": ["- / 4.0"]}))

    def test_programs_records_ratios_of_medians(self):
        times = {("mpich", ours): [{"total_s": 8.0 / (1 + ours), "collectives_s": 4.0 / (1 + 3 * ours)}]
                 for ours in (False, True)}
        Options.program = "apsp"
        made = programs.new_record({"16": times}, Options, CIRCUMSTANCES)
        self.assertEqual(made["rows"], {"apsp 16, MPICH": [2.0, 4.0]})


class Pages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = Path(folder.name)
        (self.top / "docs" / "measurements").mkdir(parents=True)
        record.write(self.top / "docs" / "measurements" / "near.json", made())
        record.write(self.top / "docs" / "measurements" / "far.json", made(placed="two L3s", label="Box, two L3s"))
        self.write("docs/measurements/measurements.md.in", "# M\n@overview two-ranks one L3\n\n@records two-ranks\n")
        self.write("README.md", "before\n<!-- begin measurements: far near; bcast scan -->\nold\n"
                                "<!-- end measurements -->\nafter\n")

    def write(self, name, text):
        (self.top / name).write_text(text, encoding="utf-8")

    def run_main(self, *arguments):
        import contextlib, io, sys
        out, before = io.StringIO(), sys.argv
        sys.argv = ["measurements.py", "--top", str(self.top), *arguments]
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                return measurements.main(), out.getvalue()
        finally:
            sys.argv = before

    def test_pages_are_written_and_then_agree(self):
        self.assertEqual(self.run_main("--check")[0], 1)
        self.assertEqual(self.run_main()[0], 0)
        self.assertEqual(self.run_main("--check"), (0, ""))
        readme = (self.top / "README.md").read_text(encoding="utf-8")
        self.assertIn("over the fastest of Open MPI 4.1.4 and MPICH 4.0.2 as packaged", " ".join(readme.split()))
        self.assertRegex(readme, r"(?s)^before\n.*\| cores on two L3s \| 2.00 \| 1.50 \|\n.*\nafter\n$")
        page = (self.top / "docs/measurements.md").read_text(encoding="utf-8")
        for fact in ("abc1234", "2026-01-02", "compare.py build", "Rounds: 3", "Time of the fastest", "50 ns"):
            self.assertIn(fact, page)

    def test_a_number_changed_by_hand_is_found(self):
        self.run_main()
        page = self.top / "docs/measurements.md"
        self.write("docs/measurements.md", page.read_text(encoding="utf-8").replace("2.00", "3.00", 1))
        status, said = self.run_main("--check")
        self.assertEqual(status, 1)
        self.assertIn("run bench/driver/measurements.py", said)

    def test_faults_are_named(self):
        for name, text, fault in (("README.md", "nothing\n", "has no lines"),
                                  ("README.md", "<!-- begin measurements: gone; bcast -->\n<!-- end measurements -->\n",
                                   "not there: gone"),
                                  ("docs/measurements/measurements.md.in", "@records two-ranks\n@records else\n",
                                   "of the table else"),
                                  ("docs/measurements/measurements.md.in", "# M\n", "shows no records of the table")):
            with self.subTest(fault):
                self.setUp()
                self.write(name, text)
                status, said = self.run_main()
                self.assertEqual(status, 1)
                self.assertIn(fault, said)

    def test_records_of_one_readme_table_are_comparable(self):
        other = made()
        other["versions"] = {"Open MPI": "5.0"}
        record.write(self.top / "docs" / "measurements" / "near.json", other)
        self.assertIn('differ in "versions"', self.run_main()[1])


if __name__ == "__main__":
    unittest.main()
