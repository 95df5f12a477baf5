# SPDX-License-Identifier: BSD-3-Clause
"""collctl explain: the ranking, its JSON, tables by name and file, and wrong arguments."""
import json
import os
import pathlib
import re
import tempfile
import unittest

from cli import Case, collctl, main

MACHINES = pathlib.Path(__file__).resolve().parents[2] / "lib" / "model" / "machines"


class Ranking(Case):
    def explain(self, *arguments):
        return self.run_json("explain", *arguments)

    def test_json_has_the_choices_best_first_with_terms_that_add_up(self):
        answer = self.explain("allreduce", "64K", "-n", 96, "--type", "bf16", "--machine", "arm-n1")
        self.assertEqual((answer["collective"], answer["bytes"], answer["ranks"], answer["machine"]),
                         ("allreduce", 65536, 96, "arm-n1"))
        times = [choice["predicted_us"] for choice in answer["choices"]]
        self.assertGreater(len(times), 8)
        # The selected one, then the others by price.
        self.assertTrue(answer["selected"]["setting"].startswith(answer["choices"][0]["algorithm"]))
        self.assertEqual(times[1:], sorted(times[1:]))
        for choice in answer["choices"]:
            self.assertEqual(set(choice["terms"]), {"startup_us", "transfer_us", "lock_us", "flags_us"})
            self.assertAlmostEqual(sum(choice["terms"].values()), choice["predicted_us"], places=6)
            self.assertTrue(choice["formula"].startswith("allreduce / ") and choice["source"])

    def test_the_throttle_of_the_paper(self):
        for machine, ranks, k in (("knl", 64, 8), ("broadwell", 28, 4), ("power8", 20, 10)):
            best = self.explain("scatter", "4M", "-n", ranks, "--machine", machine)["choices"][0]
            self.assertEqual((best["algorithm"], best["parameters"]["k"], best["transport"]), ("throttled_read", k, "cma"))
            self.assertGreater(best["terms"]["lock_us"], 0)
            small = self.explain("scatter", "256", "-n", ranks, "--machine", machine)["choices"][0]
            self.assertIn(small["algorithm"], ("parallel_read", "grouped"))  # not throttled

    def test_every_algorithm_of_the_list_is_priced(self):
        for collective in {row["collective"] for row in self.run_json("list")}:
            size = [] if collective == "barrier" else ["64K"]
            priced = {c["algorithm"] for c in self.explain(collective, *size, "-n", 64, "--machine", "epyc-2p")["choices"]}
            for row in self.run_json("list", collective):
                # A ring of slices needs as many as its generator allows. The 16 L3 caches of these ranks are one small group.
                if row["algorithm"] not in priced and (collective, row["algorithm"]) != ("bcast", "grouped"):
                    self.assertIn("ring", row["algorithm"])

    def test_this_machine_is_the_default_and_reported_as_not_measured(self):
        text = self.run_fine("explain", "bcast", "1M", "-n", 2)
        self.assertIn("it was not measured", " ".join(text.split()))
        self.assertRegex(text, r"(?m)^selected +\w+:chunk=")
        self.assertRegex(text, r"(?m)^decided +by built-in rule \w+\.rules:\d+ \(.+, [0-9a-f]+\)$")
        self.assertRegex(self.run_fine("explain", "allreduce", "1M", "-n", 2), r"(?m)^operands +balanced$")
        self.expect_width(text, 130)

    def test_a_table_of_another_machine_is_named_as_such(self):
        text = self.run_fine("explain", "bcast", "1M", "-n", 64, "--machine", "epyc-2p")
        self.assertIn("not this machine", " ".join(text.split()))


class Taken(Case):
    """The first choice of explain is that of a communicator, which COLL_LOG=debug prints."""

    def compare(self, collective, sizes, environment, *assumed):
        """Returns the results of explain by size in bytes."""
        done = collctl("bench", collective, "-n", 2, "--sizes", ",".join(map(str, sizes)), "--time", "0.01",
                       env={**environment, "COLL_LOG": "debug"})
        self.assertEqual(done.returncode, 0, done.stderr)
        answers = {}
        for size in sizes:
            took = re.search(rf"^libcoll: {collective} of {size} bytes on 2 ranks: (\S+)( with kernel-assisted copies)? \((.+)\)$",
                             done.stderr, re.MULTILINE)
            self.assertIsNotNone(took, done.stderr)
            answer = answers[size] = self.run_json("explain", collective, size, "-n", 2, *assumed, env=environment)
            self.assertEqual((answer["selected"]["setting"], answer["selected"]["decided_by"]), (took[1], took[3]))
            self.assertEqual(answer["choices"][0]["algorithm"], took[1].split(":")[0])
        return answers

    @unittest.skipIf(os.cpu_count() < 2, "ranks that share a core choose otherwise")
    @unittest.skipIf("COLL_CPU" in os.environ, "a table chooses alike on all processors")
    def test_by_the_rows_of_a_table(self):
        rows = [("bcast", 8192, "knomial", {"chunk": 4096, "depth": 2, "k": 1}), ("bcast", 1 << 20, "scatter_allgather", {}),
                ("allreduce", 65536, "dpml", {"chunk": 8192}), ("allreduce", 1 << 20, "fused", {"chunk": 65536, "depth": 2}),
                ("gather", 1 << 20, "throttled_write", {"k": 1}), ("scan", 1 << 20, "fused", {})]
        table = json.loads((MACHINES / "default.json").read_text())
        table["choices"] = [{"collective": collective, "ranks": 2, "up_to_bytes": end, "algorithm": algorithm,
                             "parameters": parameters, "kernel_copies": False, "predicted_us": 10, "measured_us": 20}
                            for collective, end, algorithm, parameters in rows]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "t.json"
            path.write_text(json.dumps(table))
            for collective, end, algorithm, _ in rows:
                answers = self.compare(collective, sorted({4096, end // 2, end}), {"COLL_TABLE": str(path)})
                for answer in answers.values():
                    self.assertIn("table row " + collective, answer["selected"]["decided_by"])
                self.assertEqual(answers[end]["choices"][0]["algorithm"], algorithm)
                self.assertEqual(answers[end]["selected"]["measured_us"], 20)
            text = " ".join(self.run_fine("explain", "bcast", "4K", "-n", 2, env={"COLL_TABLE": str(path)}).split())
            self.assertIn("by table row bcast up to 8 KiB of 2 ranks", text)
            self.assertIn("used because COLL_TABLE names it", text)

    @unittest.skipIf(os.cpu_count() < 2, "ranks that share a core choose otherwise")
    def test_by_the_built_in_defaults(self):
        for collective in ("bcast", "reduce", "allreduce", "scan"):
            for answer in self.compare(collective, (64 << 10, 256 << 10, 16 << 20), {"COLL_TRANSPORT": "shm"}).values():
                self.assertRegex(answer["selected"]["decided_by"], r"^built-in rule \w+\.rules:\d+ \(.+\)$")
                self.assertFalse(answer["selected"]["latency_path"])
            self.assertTrue(self.run_json("explain", collective, "1K", "-n", 2)["selected"]["latency_path"])

    @unittest.skipIf(os.cpu_count() < 2, "ranks that share a core choose otherwise")
    @unittest.skipIf("COLL_CPU" in os.environ, "it names the processor itself")
    def test_assumed_facts_choose_as_detected_ones(self):
        topology = "l3:1(size=33554432) l2:2(size=1048576) core:1"
        for environment, assumed in (({"COLL_TRANSPORT": "cma"}, "cma=0.5"), ({"COLL_TRANSPORT": "mapped"}, "cma=off"),
                                     ({"COLL_TRANSPORT": "mapped", "COLL_HEAP": "shared"}, "cma=off,shared-heap")):
            if assumed == "cma=0.5" and not self.run_json("info")["transports"]["cma"]["works"]:
                continue
            for collective, size in (("bcast", 512 << 10), ("allreduce", 256 << 10), ("gather", 1 << 20)):
                self.compare(collective, [size], {**environment, "COLL_TOPOLOGY": topology, "COLL_CPU": "zen4"},
                             "--topology", topology, "--assume", assumed)


class All(Case):
    SITUATION = ["-n", 4, "--topology", "l3:1(size=33554432) core:2", "--assume", "cma=3,huge-pages"]

    def test_has_the_choice_of_every_single_call(self):
        choices = self.run_json("explain", "--all", *self.SITUATION)["choices"]
        sizes = {(choice["collective"], choice["bytes"]): choice for choice in reversed(choices) if not choice["irregular"]}
        self.assertEqual(len(sizes), 10 * 10 + 1)
        for collective, size in (("barrier", None), ("bcast", 64), ("allreduce", 1 << 20), ("alltoall", 64 << 10), ("scan", 8)):
            words = [] if size is None else [size]
            selected = self.run_json("explain", collective, *words, *self.SITUATION)["selected"]
            found = sizes[collective, size]
            self.assertEqual((found["setting"], found["latency_path"], found["decided_by"]),
                             (selected["setting"], selected["latency_path"], selected["decided_by"]), (collective, size))

    def test_has_the_variants_whose_blocks_differ(self):
        choices = self.run_json("explain", "--all", *self.SITUATION)["choices"]
        self.assertEqual([choice["collective"] for choice in choices if choice["irregular"]],
                         ["scatter", "gather", "allgather", "alltoall", "reduce_scatter"])

    def test_has_both_candidates_of_auto_tuning(self):
        tuned = [choice for choice in self.run_json("explain", "--all", *self.SITUATION)["choices"]
                 if choice["decided_by"] == "auto-tuned"]
        self.assertGreater(len(tuned), 10)
        self.assertTrue(all(choice["bytes"] >= 256 << 10 for choice in tuned))
        choices = self.run_json("explain", "--all", "-n", 64, "--machine", "knl")["choices"]
        self.assertEqual([choice for choice in choices if choice["decided_by"] == "auto-tuned"], [], "a table chooses")

    def test_sizes_are_whole_elements(self):
        choices = self.run_json("explain", "--all", *self.SITUATION, "--type", "double")["choices"]
        self.assertTrue(all(choice["bytes"] is None or choice["bytes"] % 8 == 0 for choice in choices))
        self.assertIn(64 << 20, {choice["bytes"] for choice in choices})

    def test_prints_the_situation(self):
        text = self.run_fine("explain", "--all", *self.SITUATION)
        self.assertRegex(text, r"(?m)^ranks +4 ranks, flat, oversubscribed$")
        self.assertRegex(text, r"(?m)^transport +staged; CMA takes 3 times as long$")
        self.assertRegex(text, r"(?m)^memory +huge pages, private heap, ")
        self.expect_width(text, 100)

    def test_wrong_words(self):
        self.expect_error(2, ["--all", "leave out COLLECTIVE"], "explain", "bcast", "--all", "-n", 4)
        self.expect_error(2, ["--all", "leave out COLLECTIVE"], "explain", "bcast", "1M", "--all", "-n", 4)
        self.expect_error(2, ["COLLECTIVE is missing", "--all"], "explain", "-n", 4)
        self.expect_error(2, ["--topology", "--machine"], "explain", "--all", "-n", 4, "--machine", "knl", "--topology", "core:2")
        self.expect_error(1, ["--topology", "core:x"], "explain", "--all", "-n", 4, "--topology", "core:x")
        for item, words in (("cma=fast", ["cma=fast", "off"]), ("cma=0", "cma=0"), ("cma", "'cma'"), ("hugepages", "huge-pages"),
                            ("cma=2,in-place", "in-place"), ("huge-pages,,", "''")):
            self.expect_error(2, ["--assume", *([words] if isinstance(words, str) else words)],
                              "explain", "--all", "-n", 4, "--assume", item)


class Tables(Case):
    def test_a_file_serves_as_well_as_a_name(self):
        by_name = self.run_json("explain", "gather", "16K", "-n", 64, "--machine", "knl")
        by_file = self.run_json("explain", "gather", "16K", "-n", 64, "--machine", MACHINES / "knl.json")
        self.assertEqual(by_name, by_file)

    def test_wrong_tables_are_refused_with_the_line(self):
        table = json.loads((MACHINES / "knl.json").read_text())
        table["colour"] = 3
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.json")
            pathlib.Path(path).write_text(json.dumps(table, indent=1))
            line = 1 + pathlib.Path(path).read_text().split('"colour"')[0].count("\n")
            self.expect_error(1, [f"t.json:{line}:", "'colour'"], "explain", "bcast", "1M", "-n", 4, "--machine", path)
            self.expect_error(1, "COLL_TABLE: " + folder + "/none.json: cannot be read", "explain", "bcast", "1M", "-n", 4,
                              env={"COLL_TABLE": folder + "/none.json"})
            placed = json.loads((MACHINES / "knl.json").read_text()) | {"topology": "core:1000000"}
            (pathlib.Path(folder) / "large.json").write_text(json.dumps(placed))
            self.expect_error(1, "large.json: 'topology': synthetic topology", "explain", "bcast", "1M", "-n", 4,
                              "--machine", folder + "/large.json")
            self.expect_error(1, "cannot be read", "explain", "bcast", "1M", "-n", 4, "--machine", folder + "/none.json")

    def test_wrong_words(self):
        self.expect_error(1, ["'epic'", "epyc-1p"], "explain", "bcast", "1M", "-n", 4, "--machine", "epic")
        self.expect_error(2, "collective", "explain", "all", "1M", "-n", 4)
        self.expect_error(2, "SIZE is missing", "explain", "bcast", "-n", 4)
        self.expect_error(2, "leave it out", "explain", "barrier", "1K", "-n", 4)
        self.expect_error(2, "whole number", "explain", "bcast", "13", "-n", 4, "--type", "double")


if __name__ == "__main__":
    main()
