# SPDX-License-Identifier: BSD-3-Clause
"""collctl bench contention: every transport in the result, working or with its reason; patterns, data, record."""
import json
import pathlib
import tempfile

from cli import Case, main

TRANSPORTS = ["cma", "kcoll_copy", "kcoll_map", "shm", "kcoll_uncached", "kcoll_ungated"]
PATTERNS = ["all_to_all", "one_to_all", "one_to_all_apart", "all_to_one"]
SHORT = ("--time", 0.002)


class Contention(Case):
    def test_every_transport_is_in_the_result(self):
        result = self.run_json("bench", "contention", "-n", 2, "--pages", "1,3", *SHORT)
        self.assertEqual(list(result["transports"]), TRANSPORTS)
        self.assertTrue(result["transports"]["shm"]["works"])
        working = [name for name, state in result["transports"].items() if state["works"]]
        for name, state in result["transports"].items():
            self.assertEqual("problem" in state, name not in working, name)
        self.assertEqual(result["wrong"], 0)
        rows = [(r["transport"], r["pattern"], r["pages"], r["concurrent"]) for r in result["rows"]]
        self.assertEqual(rows, [(t, p, pages, c) for t in working for p in PATTERNS for pages in (1, 3) for c in (1, 2)])
        for row in result["rows"]:
            self.assertGreaterEqual(row["iterations"], 10)
            self.assertGreater(row["median_us"], 0)
            self.assertLessEqual(row["p10_us"], row["median_us"])
            self.assertLessEqual(row["median_us"], row["p90_us"])
            if row["concurrent"] == 1:
                self.assertEqual(row["relative"], 1)
            for counted in ("locks", "lock_waits", "pages_pinned"):
                self.assertEqual(row[counted] is not None, result["counts"]["works"], counted)

    def test_a_choice(self):
        result = self.run_json("bench", "contention", "-n", 1, "--transport", "shm", "--pattern", "all_to_one", "--pages", 2, *SHORT)
        self.assertEqual([(r["transport"], r["pattern"], r["pages"]) for r in result["rows"]], [("shm", "all_to_one", 2)])

    def test_text_names_what_does_not_work(self):
        result = self.run_json("bench", "contention", "-n", 1, "--pages", 1, *SHORT)
        text = self.run_fine("bench", "contention", "-n", 1, "--pages", 1, *SHORT)
        for name, state in result["transports"].items():
            self.assertRegex(text, rf"(?m)^ *{name} " + ("" if state["works"] else "does not work here"))
        self.expect_width(text, 100)

    def test_with_a_busy_owner(self):
        result = self.run_json("bench", "contention", "-n", 2, "--transport", "cma,shm", "--pages", 1, "--busy", *SHORT)
        self.assertEqual((result["busy"], result["wrong"]), (True, 0))
        self.assertFalse(self.run_json("bench", "contention", "-n", 1, "--transport", "shm", "--pages", 1, *SHORT)["busy"])

    def test_more_processes_than_processors(self):
        result = self.run_json("bench", "contention", "-n", 9, "--transport", "shm", "--pattern", "one_to_all_apart", "--pages", 1, *SHORT)
        self.assertEqual((len(result["rows"]), result["wrong"]), (9, 0))

    def test_a_record_is_what_json_prints_and_a_report_takes_it(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "contention.json"
            result = self.run_json("bench", "contention", "-n", 2, "--pages", 1, "--record", file, *SHORT)
            self.assertEqual(json.loads(file.read_text()), result)
            drawn = self.run_json("report", "--topology", "core:2", "--bench", file)["machine"]["contention"][0]
        self.assertEqual(len(drawn["rows"]), len(result["rows"]))
        self.assertEqual(drawn["rows"][0]["lock_waits"], result["rows"][0]["lock_waits"])

    def test_wrong_arguments(self):
        self.expect_error(2, "--ranks", "bench", "contention")
        self.expect_error(2, ["pigeon", "kcoll_map"], "bench", "contention", "-n", 1, "--transport", "pigeon")
        self.expect_error(2, ["spiral", "one_to_all"], "bench", "contention", "-n", 1, "--pattern", "spiral")
        self.expect_error(2, "--pages", "bench", "contention", "-n", 1, "--pages", 0)
        # The file is tried before the measurements, each of which would take a minute.
        self.expect_error(1, "cannot write --record /no/such/folder/x: No such file", "bench", "contention", "-n", 2, "--time", 60,
                          "--record", "/no/such/folder/x", timeout=30)

    def test_bench_still_needs_a_collective(self):
        self.expect_error(2, "COLLECTIVE", "bench", "-n", 2)


if __name__ == "__main__":
    main()
