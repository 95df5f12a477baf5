# SPDX-License-Identifier: BSD-3-Clause
"""collctl plan: the numbers of the papers, pictures, and wrong arguments."""
import os
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

from cli import Case, main

XHC = ["--topology", "package:2 numa:4 core:8", "--sensitivity", "numa,socket"]


class Numbers(Case):
    def test_a_ring_has_a_power_of_two_of_slots(self):
        self.expect_error(2, "power of two of slots; use 2 or 4", "plan", "bcast", "-n", 2, "--algorithm", "flat_read",
                          "--depth", 3)

    @unittest.skipIf("COLL_CPU" in os.environ, "the plan is the same on all processors")
    def test_hierarchical_bcast_crosses_each_border_once_for_every_root_and_mapping(self):
        for mapping in ("core", "numa"):
            for root in range(64):
                plan = self.run_json("plan", "bcast", "--algorithm", "hierarchical", "-n", 64, "--root", root, "--size", "1M",
                                     "--map-by", mapping, *XHC)
                self.assertEqual(plan["messages"], {"inter_socket": 1, "inter_numa": 6, "intra_numa": 56}, (mapping, root))
                self.assertEqual((plan["algorithm"], plan["ranks"], plan["root"]), ("hierarchical", 64, root))
                self.assertEqual(plan["dav_bytes"],
                                 {"load": 63 << 20, "store": 63 << 20, "total": 126 << 20, "copied": 126 << 20})
                self.assertGreater(plan["steps"], 64)

    def test_a_fixed_schedule_does_not(self):
        for mapping, root, expected in (("core", 0, (2, 9, 52)), ("numa", 0, (8, 48, 7)), ("core", 10, (10, 17, 36))):
            plan = self.run_json("plan", "bcast", "--algorithm", "knomial:k=3", "-n", 64, "--root", root, "--map-by", mapping,
                                 *XHC)
            self.assertEqual(tuple(plan["messages"].values()), expected, (mapping, root))
        plan = self.run_json("plan", "bcast", "--algorithm", "knomial:k=1", "-n", 64, "--map-by", "numa", *XHC)
        self.assertEqual(plan["messages"], {"inter_socket": 8, "inter_numa": 48, "intra_numa": 7})

    def volume(self, collective, algorithm, ranks, *more):
        size = 1 << 20
        plan = self.run_json("plan", collective, "--algorithm", algorithm, "-n", ranks, "--size", size, "--type", "float",
                             "--topology", "package:2 numa:1 core:32", "--sensitivity", "socket", *more)
        return plan["dav_bytes"]["total"] / size

    @unittest.skipIf("COLL_CPU" in os.environ, "the plans are the same on all processors")
    def test_data_access_volumes_of_the_papers(self):
        # On the transport that the algorithm's paper describes; 60 ranks have blocks of unequal length.
        for p in (60, 64):
            for collective, volumes in {
                    "reduce_scatter": {"ring": 5 * (p - 1), "dpml": 3 * p + 1, "movement_avoiding": 3 * p - 1,
                                       "movement_avoiding_socket": 3 * p + 1, "fused": p + 1},
                    "allreduce": {"ring": 7 * (p - 1), "dpml": 5 * p + 1, "movement_avoiding": 5 * p - 1,
                                  "movement_avoiding_socket": 5 * p + 1, "shared_address_space": 5 * (p - 1),
                                  "fused": 3 * p - 1},
                    "reduce": {"dpml": 3 * p + 3, "movement_avoiding": 3 * p + 1, "fused": p + 1}}.items():
                for algorithm, volume in volumes.items():
                    self.assertEqual(self.volume(collective, algorithm, p), volume, (collective, algorithm, p))
        for collective, volume in {"reduce_scatter": 315, "allreduce": 441}.items():
            self.assertEqual(self.volume(collective, "rabenseifner", 64), volume)
        self.assertEqual(self.volume("allreduce", "rg:k=3", 64), 64 * (11 / 4 + 5 / 16 + 5 / 64 + 2))

    def test_the_transport_can_be_named(self):
        self.assertEqual(self.volume("allreduce", "fused", 64, "--transport", "copy"), 3 * 64 - 1 + 2 * 63)
        self.assertEqual(self.volume("allreduce", "movement_avoiding", 64, "--transport", "mapped"), 5 * 64 - 1)
        for name in ("shm", "cma", "mapped"):
            self.assertEqual(self.run_json("plan", "bcast", "-n", 4, "--transport", name)["transport"], name)

    def test_movement_avoiding_copies_as_much_as_the_lower_bound(self):
        plan = self.run_json("plan", "reduce_scatter", "--algorithm", "movement_avoiding", "-n", 64, "--size", 1 << 20)
        self.assertEqual(plan["dav_bytes"]["copied"], 2 << 20)

    def test_the_algorithm_is_chosen_when_none_is_named(self):
        for cores, algorithm in {16: "fused", 2: "rg"}.items():
            plan = self.run_json("plan", "reduce", "-n", 16, "--size", "1M", "--topology", f"package:1 core:{cores}")
            self.assertEqual(plan["algorithm"], algorithm)

    def test_the_choice_is_that_of_explain(self):
        compared = set()
        for collective in sorted({row["collective"] for row in self.run_json("list")} - {"barrier"}):
            for ranks, size in ((2, 64 << 10), (2, 1 << 20), (2, 16 << 20), (64, 16 << 20)):
                # Plans of many blocks use smaller chunks than requested.
                if ranks > 2 and collective not in ("bcast", "reduce", "allreduce"):
                    continue
                # SIZE of explain is the block of one rank, --size of plan the vector of a reduce-scatter.
                block = size // ranks if collective == "reduce_scatter" else size
                selected = self.run_json("explain", collective, block, "-n", ranks)["selected"]
                self.assertRegex(selected["decided_by"], r"^built-in rule \w+\.rules:\d+ \(.+\)$")
                if selected["kernel_assisted"]:
                    continue
                plan = self.run_json("plan", collective, "--size", size, "-n", ranks, "--transport", "shm")
                setting = f'{plan["algorithm"]}:{plan["parameters"].replace(" ", ",")}'
                if size < 16 << 20 or collective == "reduce_scatter":
                    # Plans change the depth of a short ring, and of one that holds all blocks.
                    setting, selected["setting"] = (text.split(",depth")[0] for text in (setting, selected["setting"]))
                self.assertEqual(setting, selected["setting"], (collective, ranks, size))
                compared.add((collective, ranks))
        self.assertGreater(len(compared), 8)

    def test_the_variable_for_tests_names_the_processor(self):
        def staged(cpu):
            plan = self.run_json("plan", "reduce", "--size", "16M", "-n", 2, "--transport", "shm", env={"COLL_CPU": cpu})
            values = dict(value.split("=") for value in plan["parameters"].split())
            return int(values["chunk"]) * int(values["depth"])
        # The ring is as long as the L2, up to 1 MiB, or half as long with RFO-free stores.
        self.assertEqual({cpu: staged(cpu) >> 10 for cpu in ("zen3", "zen4", "zen5", "xeon", "neoverse")},
                         {"zen3": 512, "zen4": 1024, "zen5": 512, "xeon": 1024, "neoverse": 1024})
        for cpu, algorithm in (("zen4", "flat_read"), ("neoverse", "hierarchical")):
            plan = self.run_json("plan", "bcast", "--size", "2K", "-n", 64, *XHC, env={"COLL_CPU": cpu})
            self.assertEqual(plan["algorithm"], algorithm, cpu)
        for arguments in (("plan", "bcast", "-n", 4), ("explain", "bcast", "1M", "-n", 4)):
            self.expect_error(2, ["COLL_CPU='zen9'", "zen3, zen4, zen5, xeon, neoverse"], *arguments, env={"COLL_CPU": "zen9"})

    def test_barrier_moves_nothing(self):
        plan = self.run_json("plan", "barrier", "--algorithm", "dissemination", "-n", 8)
        self.assertEqual(plan["dav_bytes"]["total"], 0)
        self.assertEqual(plan["size_bytes"], 0)


class Texts(Case):
    def test_the_summary_agrees_with_json(self):
        text = self.run_fine("plan", "bcast", "--algorithm", "hierarchical", "-n", 64, "--root", 10, "--map-by", "numa", *XHC)
        self.assertRegex(text, r"between sockets +1 +1 MiB")
        self.assertRegex(text, r"inside a NUMA node +56 +56 MiB")
        self.assertIn("root 10", text)
        self.expect_width(text, 100)

    def test_reductions_print_the_order_of_operands(self):
        for algorithm, order in (("fused", "balanced"), ("rg", "balanced"), ("ring", "any order")):
            text = self.run_fine("plan", "allreduce", "--algorithm", algorithm, "-n", 4)
            self.assertRegex(text, rf"(?m)^operands +{order}$")
        self.assertNotIn("operands", self.run_fine("plan", "bcast", "-n", 4))

    def test_steps_of_one_rank(self):
        all_ranks = self.run_fine("plan", "barrier", "--algorithm", "dissemination", "-n", 8, "--text")
        one = self.run_fine("plan", "barrier", "--algorithm", "dissemination", "-n", 8, "--text", "--rank", 3)
        self.assertIn("wait", one)
        self.assertLess(len(one), len(all_ranks))

    def test_svg_is_well_formed_and_renders(self):
        with tempfile.TemporaryDirectory() as folder:
            file, picture = os.path.join(folder, "plan.svg"), os.path.join(folder, "plan.png")
            self.run_fine("plan", "allreduce", "--algorithm", "fused:chunk=64K", "-n", 4, "--size", "256K", "--svg", file)
            self.assertTrue(xml.etree.ElementTree.parse(file).getroot().tag.endswith("svg"))
            if shutil.which("rsvg-convert") is None:
                self.skipTest("rsvg-convert is not installed (librsvg2-bin)")
            subprocess.run(["rsvg-convert", "-o", picture, file], check=True)
            self.assertGreater(os.path.getsize(picture), 5000)


class WrongArguments(Case):
    def test_each_error_is_one_line_with_a_fix(self):
        for words, arguments in [
            (["'collect'", "bcast"], ["collect", "-n", 4]),
            (["'all'", "one collective"], ["all", "-n", 4]),
            (["--ranks", "required"], ["bcast"]),
            (["'swirl'", "flat_read"], ["bcast", "-n", 4, "--algorithm", "swirl"]),
            (["not a parameter"], ["bcast", "-n", 4, "--algorithm", "knomial:radix=3"]),
            (["ring_neighbor", "divisor"], ["allgather", "-n", 4, "--algorithm", "ring_neighbor:j=2"]),
            (["--root 4", "0 to 3"], ["bcast", "-n", 4, "--root", 4]),
            (["--root", "leave it out"], ["allreduce", "-n", 4, "--root", 1]),
            (["--size"], ["bcast", "-n", 4, "--size", "1X"]),
            (["--size 10", "float"], ["bcast", "-n", 4, "--size", "10"]),
            (["'floot'", "bfloat16"], ["bcast", "-n", 4, "--type", "floot"]),
            (["--map-by"], ["bcast", "-n", 4, "--map-by", "moon"]),
            (["--sensitivity"], ["bcast", "-n", 4, "--sensitivity", "moon"]),
            (["'pigeon'", "mapped"], ["bcast", "-n", 4, "--transport", "pigeon"]),
            (["--chunk"], ["bcast", "-n", 4, "--chunk", "3"]),
            (["--rank 9"], ["bcast", "-n", 4, "--text", "--rank", 9]),
        ]:
            self.expect_error(2, words, "plan", *arguments)

    def test_failures(self):
        self.expect_error(1, "--topology", "plan", "bcast", "-n", 4, "--topology", "/no/such/file.xml")
        self.expect_error(1, "--topology", "plan", "bcast", "-n", 4, "--topology", "package:2 moon:3")
        self.expect_error(1, "--svg", "plan", "bcast", "-n", 4, "--svg", "/no/such/folder/plan.svg")


if __name__ == "__main__":
    main()
