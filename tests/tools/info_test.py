# SPDX-License-Identifier: BSD-3-Clause
"""collctl info: the facts in JSON, the transports tried for real, and the environment it reports."""
from cli import Case, main


class Info(Case):
    def test_json_has_the_facts(self):
        info = self.run_json("info")
        self.assertRegex(info["version"], r"^\d+\.\d+\.\d+$")
        self.assertIn(info["simd"]["used"], info["simd"]["possible"])
        self.assertGreaterEqual(info["machine"]["cores"], 1)
        self.assertGreaterEqual(len(info["allowed_processors"]), 1)
        self.assertIn(info["system"]["kcoll_device"], ("present", "absent", "no permission"))
        self.assertEqual(set(info["transports"]), {"mapped", "cma", "shm"})

    def test_shared_memory_works_everywhere(self):
        transports = self.run_json("info")["transports"]
        for name in ("shm", "mapped"):
            self.assertTrue(transports[name]["works"], transports)
            self.assertGreater(transports[name]["bcast_256K_us"], 0)

    def test_a_described_machine(self):
        info = self.run_json("info", "-n", 16, "--topology", "package:2 numa:2 core:4", "--no-probe")
        self.assertEqual(info["machine"]["packages"], 2)
        self.assertIn("16 ranks", info["hierarchy"])
        self.assertNotIn("transports", info)

    def test_the_text(self):
        text = self.run_fine("info")
        for word in ("libcoll", "machine", "transports", "shm", "environment", "table", "kcoll"):
            self.assertRegex(text, rf"(?m)^ *{word}")
        self.expect_width(text, 100)

    def test_variables_are_shown_and_wrong_ones_noticed(self):
        info = self.run_json("info", env={"COLL_TRANSPORT": "shm", "COLL_TRANSPROT": "cma"})
        self.assertEqual(info["environment"], {"COLL_TRANSPORT": "shm", "COLL_TRANSPROT": "cma"})
        self.assertIn("transport shm", info["communicator"])
        self.assertRegex(self.run_fine("info", "--no-probe", env={"COLL_TRANSPROT": "cma"}), "COLL_TRANSPROT=cma .*misspelt")

    def test_a_bad_value_is_explained(self):
        info = self.run_json("info", env={"COLL_BCAST": "swirl"})
        self.assertIn("swirl", info["communicator_problem"])

    def test_wrong_arguments(self):
        self.expect_error(2, "--map-by", "info", "--map-by", "moon")
        self.expect_error(1, "--topology", "info", "--topology", "/no/such/file.xml")
        self.expect_error(2, "--ranks", "info", "-n", 0)


if __name__ == "__main__":
    main()
