# SPDX-License-Identifier: BSD-3-Clause
"""collctl info: the facts in JSON, the transports tried for real, and the environment it reports."""
import pathlib
import tempfile

from cli import Case, main


class Info(Case):
    def test_json_has_the_facts(self):
        info = self.run_json("info")
        self.assertRegex(info["version"], r"^\d+\.\d+\.\d+$")
        self.assertIn(info["simd"]["used"], info["simd"]["possible"])
        self.assertGreaterEqual(info["machine"]["cores"], 1)
        self.assertGreaterEqual(len(info["allowed_processors"]), 1)
        self.assertIn(info["system"]["kcoll_device"], ("present", "absent", "no permission"))
        self.assertEqual(set(info["transports"]), {"mapped", "cma", "shm", "kcoll_copy", "kcoll_map", "kcoll_uring"})

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
        self.assertRegex(self.run_fine("info", "--no-probe", env={"COLL_TRANSPROT": "cma"}), "COLL_TRANSPROT=cma .*misspelt.*COLL_TRANSPORT")

    def test_the_table_of_variables(self):
        table = {row["name"]: row for row in self.run_json("info", "--env", env={"COLL_TRANSPORT": "shm"})}
        self.assertGreater(len(table), 15)
        self.assertEqual((table["COLL_TRANSPORT"]["value"], table["COLL_TRANSPORT"]["source"]), ("shm", "environment"))
        self.assertIsNone(table["COLL_DEBUG"]["value"])
        text = self.run_fine("info", "--env", env={"COLL_TRANSPORT": "shm"})
        for name in table:
            self.assertRegex(text, rf"(?m)^{name}$")
        self.assertRegex(text, r"shm +\(environment\)")
        self.expect_width(text, 100)

    def configured(self, text, *arguments, **environment):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "libcoll" / "config"
            file.parent.mkdir()
            file.write_text(text)
            return self.run_json("info", *arguments, env={"XDG_CONFIG_HOME": folder, **environment})

    def test_a_configuration_file_counts(self):
        info = self.configured("# how we run\n\nCOLL_TRANSPORT = shm   # no tracing here\nCOLL_DIRECT_MIN=4096\n")
        self.assertIn("transport shm, forced", info["communicator"])
        self.assertEqual(info["configuration"]["COLL_TRANSPORT"]["value"], "shm")
        self.assertRegex(info["configuration"]["COLL_TRANSPORT"]["source"], r"/libcoll/config:3$")

    def test_the_environment_goes_before_it(self):
        info = self.configured("COLL_TRANSPORT = pigeon\n", COLL_TRANSPORT="shm")
        self.assertIn("transport shm, forced", info["communicator"])

    def test_a_wrong_line_is_refused_with_the_right_name(self):
        info = self.configured("COLL_LOG = off\nCOLL_TRANSPROT = shm\n")
        self.assertRegex(info["communicator_problem"], r"config:2: .*COLL_TRANSPROT.*did you mean COLL_TRANSPORT\?")
        self.assertNotIn("COLL_LOG", info["configuration"])

    def test_another_file_or_none(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("COLL_TRANSPORT = shm\n")
            file.flush()
            other = self.configured("COLL_TRANSPORT = pigeon\n", COLL_CONFIG=file.name)
        self.assertIn("transport shm, forced", other["communicator"])
        self.assertIn("communicator", self.configured("COLL_TRANSPORT = pigeon\n", COLL_CONFIG="none"))
        self.assertIn("/no/such/file", self.configured("", COLL_CONFIG="/no/such/file")["communicator_problem"])

    def test_a_bad_value_is_explained(self):
        info = self.run_json("info", env={"COLL_BCAST": "swirl"})
        self.assertIn("swirl", info["communicator_problem"])

    def test_wrong_arguments(self):
        self.expect_error(2, "--map-by", "info", "--map-by", "moon")
        self.expect_error(1, "--topology", "info", "--topology", "/no/such/file.xml")
        self.expect_error(2, "--ranks", "info", "-n", 0)


if __name__ == "__main__":
    main()
