# SPDX-License-Identifier: BSD-3-Clause
"""`collctl report` without a browser: the data against their schema, numbers that follow from known files, errors."""
import json
import os
import pathlib
import tempfile

import report_data
from cli import Case, collctl, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
TWO_CORES = ("--topology", "l3:1(size=33554432) core:2")


def problems(report):
    """Returns the validator of the published schema; None if it is not installed."""
    try:
        import jsonschema
    except ImportError:
        return None
    schema = json.loads((ROOT / "tools/report/report.schema.json").read_text())
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return [f"{list(error.path)}: {error.message[:200]}" for error in kind(schema).iter_errors(report)]


class Report(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def check_schema(self, report):
        found = problems(report)
        if found is None:
            self.skipTest("python3-jsonschema is not installed: the schema is not checked")
        self.assertEqual(found, [])

    def test_data_follow_the_schema(self):
        trace = self.folder / "trace.json"
        self.run_fine("simulate", "allreduce", "256K", "-n", 4, "--machine", "epyc-1p", "--algorithm", "fused", "--trace", trace)
        report = self.run_json("report", "--table", "epyc-1p", "-n", 4, "--stats", *report_data.write_job(self.folder, 4),
                               "--trace", trace, "--bench", self.file("b.json", report_data.benchmark()),
                               ROOT / "docs/measurements/zen5-one-l3.json", "--compare", ROOT / "lib/model/machines/knl.json", "--tuned", self.file("tuned", report_data.learned()))
        self.assertEqual([bench["kind"] for bench in report["benchmarks"]], ["curves", "record"])
        self.assertEqual(report["compare"]["machine"]["name"], "knl")
        self.check_schema(report)

    def test_choices_are_those_of_explain(self):
        cells = {(c["collective"], c["bytes"]): c for c in self.run_json("report", "--table", "epyc-2p", "-n", 64)["choice"]["cells"]}
        explained = self.run_json("explain", "--all", "-n", 64, "--machine", "epyc-2p")["choices"]
        compared = 0
        for row in explained:
            if row["bytes"] is not None and not row["decided_by"].startswith("auto-tuned"):
                cell = cells[row["collective"], row["bytes"]]
                self.assertEqual((cell["setting"], cell["latency"]), (row["setting"], row["latency_path"]), row)
                compared += 1
        self.assertGreater(compared, 90)
        one = self.run_json("explain", "allreduce", "64K", "-n", 64, "--machine", "epyc-2p")
        cell = cells["allreduce", 65536]
        self.assertAlmostEqual(cell["price"]["us"] / one["choices"][0]["predicted_us"], 1, 3)
        self.assertEqual([other["algorithm"] for other in cell["others"]], [c["algorithm"] for c in one["choices"][1:6]])

    def test_cheaper_alternatives_have_a_reason(self):
        reasons = 0
        for machine in ("arm-n1", "epyc-2p"):
            for cell in self.run_json("report", "--table", machine, "-n", 160)["choice"]["cells"]:
                for other in cell["others"]:
                    self.assertEqual("why_not" in other, cell["price"] is not None and other["us"] < cell["price"]["us"], other)
                    reasons += "why_not" in other
                    if cell["decided_by"].startswith("the table's parameters"):
                        self.assertNotIn("a built-in rule decides", other.get("why_not", ""))
        self.assertGreater(reasons, 100)

    def test_a_job_has_the_prices_of_its_choices(self):
        cells = [cell for cell in self.run_json("report", "--table", "epyc-2p", "-n", 64)["choice"]["cells"]
                 if cell["price"] is not None and not cell["latency"] and cell["bytes"] in (32768, 262144) and not cell["kernel_copies"]]
        rows = [{"collective": cell["collective"], "up_to_bytes": cell["bytes"], "calls": 10, "bytes": 10 * cell["bytes"], "seconds": 1,
                 "algorithm": cell["algorithm"], "transport": "shm"} for cell in cells]
        stats = self.file("s.json", {"rank": 0, "run_seconds": 9, "calls": rows})
        job = self.run_json("report", "--table", "epyc-2p", "-n", 64, "--stats", stats)["job"]
        found = {(row["collective"], row["up_to_bytes"]): row["prediction"] for row in job["calls"]}
        for cell in cells:
            prediction = found[cell["collective"], cell["bytes"]]
            self.assertEqual((prediction["mean_bytes"], prediction["used_us"]), (cell["bytes"], cell["price"]["us"]), cell["collective"])
            self.assertNotEqual(prediction["transport"], "mapped")  # these calls had no such memory
        self.assertGreater(len(cells), 12)

    def test_a_job_of_all_ranks(self):
        report = self.run_json("report", *TWO_CORES, "--stats", *reversed(report_data.write_job(self.folder, 12)))
        job = report["job"]
        self.assertEqual(job["ranks"], list(range(12)))
        self.assertEqual(len(report["machine"]["ranks"]), 12)
        self.assertEqual(job["run_seconds"], [2.5] * 12)
        row = next(row for row in job["calls"] if row["algorithm"] == "rabenseifner")
        self.assertEqual((row["collective"], row["up_to_bytes"], row["calls"]), ("allreduce", 262144, [2000] * 12))
        wanted = [next(c["seconds"] for c in report_data.statistics(rank, 12)["calls"] if c["algorithm"] == "rabenseifner") for rank in range(12)]
        for seconds, exact in zip(row["seconds"], wanted):
            self.assertAlmostEqual(seconds / exact, 1, 3)
        self.assertEqual(row["prediction"]["mean_bytes"], 65536)
        self.assertLessEqual(row["prediction"]["best_us"], row["prediction"]["used_us"])
        self.assertEqual(job["forwarded"], [{"collective": "allreduce", "up_to_bytes": 64, "why": "an operation of the user", "calls": [12] * 12}])

    def test_statistics_that_a_program_wrote(self):
        stats = self.folder / "stats.%r.json"
        done = collctl("run", "-n", 2, os.environ["EXAMPLES"] + "/example_shortest_paths", env={"COLL_STATS": str(stats)})
        self.assertEqual(done.returncode, 0, done.stderr)
        job = self.run_json("report", *TWO_CORES, "--stats", self.folder / "stats.0.json", self.folder / "stats.1.json")["job"]
        self.assertEqual(job["ranks"], [0, 1])
        self.assertIn("bcast", {row["collective"] for row in job["calls"]})
        for run, seconds in zip(job["run_seconds"], zip(*(row["seconds"] for row in job["calls"]))):
            self.assertGreaterEqual(run * 1.001, sum(seconds))

    def test_files_of_auto_tuning(self):
        learned = self.run_json("report", *TWO_CORES, "--tuned", self.file("tuned", report_data.learned()))["learned"]
        self.assertEqual([(each["file"], each["processor"]) for each in learned], [("tuned", "AMD EPYC 7763 64-Core Processor")])
        self.assertEqual(learned[0]["rules"][0], {
            "collective": "allreduce", "ranks": 2, "levels": 1, "oversubscribed": False, "from_bytes": 65536, "below_bytes": 131072,
            "element": "!=2", "setting": "fused:chunk=16384,copy=staged", "us": 9.1, "usual_us": 11})
        self.assertEqual([learned[0]["rules"][1][key] for key in ("oversubscribed", "setting", "us", "usual_us")], [True, "latency", 3, 0])
        first = report_data.learned().splitlines()[0] + "\n"
        for wrong in ("bcast: ring", "bcast[p=2]: ring", "bcast[p=2, n>=1, n<x]: ring", "bcast[p=2, n>=1, n<2]: ring -- soon", "<b>"):
            self.expect_error(1, "line 2 is not a rule", "report", "--json", *TWO_CORES, "--tuned", self.file("w", first + wrong + "\n"))

    def test_an_empty_job(self):
        report = self.run_json("report", *TWO_CORES, "--stats", self.file("s", ""))
        self.assertEqual(report["job"], {"ranks": [0], "run_seconds": None, "calls": [], "forwarded": [], "functions": []})

    def test_nested_files_are_refused(self):
        """Copying or writing JSON uses stack for each level."""
        nested = self.file("nested.json", '{"rank": 0, "calls": [{"up_to_bytes": ' + "[" * 200000 + "]" * 200000 + "}]}")
        for option in ("--stats", "--trace", "--bench", "--compare", "--from"):
            self.expect_error(1, [option, "nested too deeply"], "report", "--json", option, nested)

    def test_a_benchmark_is_summarised(self):
        report = self.run_json("report", *TWO_CORES, "--bench", self.file("b.json", report_data.benchmark()))
        bench = report["benchmarks"][0]
        self.assertEqual(bench["dropped"], 3 * 11 * 3)  # the eighth launch of each contestant was at another distance
        point = next(p for p in bench["points"] if (p["collective"], p["bytes"], p["contestant"]) == ("bcast", 65536, "mpich"))
        self.assertAlmostEqual(point["median_us"], (0.4 + 65536 / 9000) * 1.5 * 1.03, 2)
        self.assertEqual(point["samples"], 7)
        self.assertTrue(point["low_us"] < point["median_us"] < point["high_us"])

    def test_a_timeline_has_the_steps_of_the_file(self):
        trace = self.folder / "t.json"
        self.run_fine("simulate", "bcast", "64K", "-n", 3, "--machine", "epyc-1p", "--algorithm", "flat_read", "--trace", trace)
        line = self.run_json("report", *TWO_CORES, "--trace", trace)["timelines"][0]
        events = json.loads(trace.read_text())["traceEvents"]
        self.assertEqual(len(line["slices"]), sum(event["ph"] == "X" for event in events))
        self.assertEqual(len(line["arrows"]), sum(event["ph"] == "f" for event in events))
        self.assertTrue(line["name"].startswith("bcast flat_read"), line["name"])
        self.assertEqual([line[key] for key in ("origin", "machine", "bytes", "transport")], ["simulated", "epyc-1p", 65536, "mapped"])

    def test_a_page_of_128_ranks_stays_below_3_mb(self):
        trace, page = self.folder / "t.json", self.folder / "r.html"
        self.run_fine("simulate", "alltoall", "1K", "-n", 128, "--machine", "arm-n1", "--algorithm", "pairwise", "--trace", trace)
        done = collctl("report", "--json", "-o", page, "--topology", "package:2 numa:4 core:16", "--trace", trace,
                       "--stats", *report_data.write_job(self.folder, 128))
        if "without D3" in done.stderr:
            self.skipTest("collctl was built without D3 (node-d3)")
        self.assertEqual(done.returncode, 0, done.stderr)
        line = json.loads(done.stdout)["timelines"][0]
        self.assertGreater(line["recorded"], len(line["slices"]))  # the trace alone has more
        self.assertGreater(len(line["slices"]), 5000)
        self.assertGreater(line["path"]["end_us"], line["end_us"])  # the critical path is that of all steps
        self.assertLess(len(line["path"]["hops"]), line["path"]["pieces"])
        self.assertLess(page.stat().st_size, 3 << 20)

    def test_measured_flags(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one processor: there is no other core to measure to")
        report = self.run_json("report", "--measure")
        machine = report["machine"]
        measured, n = machine["measured"], len(machine["measured"]["cpus"])
        if n < 2:
            self.skipTest("one core")
        self.assertEqual(len(measured["flag_ns"]), n * (n - 1) // 2)
        self.assertEqual(measured["measured"], sum(ns is not None for ns in measured["flag_ns"]))
        self.assertGreater(min(ns for ns in measured["flag_ns"] if ns is not None), 1)
        self.assertEqual({row["concurrent"] for row in machine["contention"][-1]["rows"]}, set(range(1, len(os.sched_getaffinity(0)) + 1)))
        self.check_schema(report)

    def test_wrong_words_and_files(self):
        self.expect_error(2, ["-o FILE", "--json"], "report")
        self.expect_error(2, "--table has a topology of its own", "report", "--json", "--table", "knl", *TWO_CORES)
        self.expect_error(2, "--measure measures this machine", "report", "--json", "--measure", *TWO_CORES)
        self.expect_error(1, "--stats /nowhere/x: the file cannot be read", "report", "--json", "--stats", "/nowhere/x")
        for option, words in {"--stats": "COLL_STATS=", "--trace": "not a timeline", "--bench": "unknown contents",
                              "--compare": "report --json", "--from": "report --json"}.items():
            self.expect_error(1, [option, words], "report", "--json", option, self.file("x.json", {"a": []}))
            self.expect_error(1, [option, "not JSON"], "report", "--json", option, self.file("y.json", "<html>"))
        self.expect_error(1, "--tuned /nowhere/x: the file cannot be read", "report", "--json", "--tuned", "/nowhere/x")
        self.expect_error(1, "its first line is not '# libcoll auto-tuning 1: PROCESSOR'", "report", "--json", "--tuned", self.file("z", "{}"))
        one = self.file("stats.json", report_data.statistics(0, 1))
        self.expect_error(1, "two files are of rank 0", "report", "--json", "--stats", one, one)
        self.expect_error(1, "cannot write -o /nowhere/r.html: No such file", "report", "-o", "/nowhere/r.html", *TWO_CORES)

    def test_a_page_is_made_from_data(self):
        page, again = self.folder / "a.html", self.folder / "b.html"
        done = collctl("report", "-o", page, "--json", *TWO_CORES)
        if "without D3" in done.stderr:
            self.skipTest("collctl was built without D3 (node-d3)")
        self.assertEqual(done.returncode, 0, done.stderr)
        data = self.file("d.json", done.stdout)
        self.run_fine("report", "--from", data, "-o", again)
        self.assertEqual(page.read_bytes(), again.read_bytes())
        self.assertIn("Mike Bostock", page.read_text())


if __name__ == "__main__":
    main()
