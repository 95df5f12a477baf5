# SPDX-License-Identifier: BSD-3-Clause
"""collctl doctor as it is typed; what it makes of facts is in diagnosis_test.cc."""
import json
import os
import unittest

from cli import Case, collctl, main

CHECKS = ["memfd", "cma", "ptrace_scope", "seccomp", "namespaces", "kcoll", "memlock", "dev_shm", "huge_pages",
          "shared_huge_pages", "hugetlb", "processors", "table"]


class Doctor(Case):
    def test_json_has_every_check(self):
        told = self.run_json("doctor")
        self.assertEqual([row["check"] for row in told["checks"]], CHECKS)
        self.assertTrue(told["well"])
        for row in told["checks"]:
            self.assertIn(row["state"], ("fine", "slower"))
            self.assertTrue(row["found"])
            if row["state"] == "fine":
                self.assertNotIn("mend", row)

    def test_text_shows_the_same(self):
        text = self.run_fine("doctor")
        for check in CHECKS:
            self.assertRegex(text, rf"(?m)^(fine|slower|broken) +{check} ")

    @unittest.skipIf(os.path.exists("/dev/kcoll"), "the module is loaded here")
    def test_the_module_can_be_required(self):
        done = collctl("doctor", "--require", "memfd,kcoll", "--json")
        self.assertEqual(done.returncode, 1)
        told = json.loads(done.stdout)
        self.assertFalse(told["well"])
        kcoll = next(row for row in told["checks"] if row["check"] == "kcoll")
        self.assertEqual(kcoll["state"], "broken")
        self.assertIn("modprobe kcoll", kcoll["mend"])

    def test_more_ranks_than_processors(self):
        rows = {row["check"]: row for row in self.run_json("doctor", "-n", 1024)["checks"]}
        self.assertEqual(rows["processors"]["state"], "slower" if os.cpu_count() < 1024 else "fine")
        self.assertEqual({row["check"]: row for row in self.run_json("doctor", "-n", 1)["checks"]}["processors"]["state"], "fine")

    def test_wrong_arguments(self):
        self.expect_error(2, ["--require", "pigeon", "memfd"], "doctor", "--require", "pigeon")
        self.expect_error(2, "--ranks", "doctor", "-n", 0)


if __name__ == "__main__":
    main()
