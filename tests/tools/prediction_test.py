# SPDX-License-Identifier: BSD-3-Clause
"""collctl bench prediction: predicted beside measured times, and the verdict that follows from them."""
import json
import os
import pathlib
import tempfile
import unittest

from cli import Case, main

MACHINES = pathlib.Path(__file__).resolve().parents[2] / "lib" / "model" / "machines"
CORES = len(os.sched_getaffinity(0))


class Prediction(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.table = pathlib.Path(folder.name) / "table.json"

    def write(self, *rows):
        table = json.loads((MACHINES / "default.json").read_text())
        table["choices"] = [{"collective": "bcast", "ranks": 2, "up_to_bytes": end, "algorithm": algorithm, "parameters": parameters,
                             "kernel_copies": False, "predicted_us": predicted, "measured_us": 1}
                            for end, algorithm, parameters, predicted in rows]
        self.table.write_text(json.dumps(table))

    def predict(self, *arguments):
        return self.run_json("bench", "prediction", "--collective", "bcast", "--sizes", "4K,64K", "--time", "0.05", *arguments,
                             env={"COLL_TABLE": str(self.table)})

    @unittest.skipIf(CORES < 2, "needs two processors")
    def test_points_and_verdict_follow_from_the_times(self):
        self.write((4096, "flat_read", {"chunk": 4096, "depth": 1}, 7), (65536, "knomial", {"chunk": 16384, "k": 1}, 11))
        result = self.predict("--candidates", 2)
        self.assertEqual([point["bytes"] for point in result["points"]], [4096, 65536])
        for point, algorithm, predicted in zip(result["points"], ("flat_read", "knomial"), (7, 11)):
            self.assertTrue(point["selected"].startswith(algorithm), point)
            self.assertEqual(point["predicted_us"], predicted)
            self.assertIn("table row bcast", point["decided_by"])
            self.assertEqual(len(point["algorithms"]), 3)
            timed = {of["algorithm"]: of for of in point["algorithms"] if of["measured_us"] is not None}
            self.assertEqual(point["measured_us"], timed[point["selected"]]["measured_us"])
            used = {algorithm: of["used_us"] for algorithm, of in timed.items()}
            self.assertGreater(used[point["selected"]], point["measured_us"])  # the result is read as well
            self.assertEqual(used[point["best"]], min(used.values()))
            self.assertAlmostEqual(point["ratio"], used[point["selected"]] / used[point["best"]])
            self.assertAlmostEqual(point["error"], abs(predicted / point["measured_us"] - 1))
        errors = sorted(point["error"] for point in result["points"])
        self.assertEqual(result["median_error"], errors[1])
        near = sum(point["ratio"] <= 1.1 for point in result["points"]) / 2
        self.assertEqual(result["share_near_best"], near)
        self.assertEqual(result["targets_met"], errors[1] <= 0.25 and near >= 0.9)

    @unittest.skipIf(CORES < 2, "needs two processors")
    def test_a_prediction_that_is_far_off_is_not_met(self):
        parameters = {"chunk": 4096, "depth": 4}
        self.write((4096, "flat_read", parameters, 1e6), (65536, "flat_read", parameters, 1e6))
        self.assertFalse(self.predict("--candidates", 1)["targets_met"])
        text = self.run_fine("bench", "prediction", "--collective", "bcast", "--sizes", "4K", "--time", "0.05", "--candidates", 1,
                             env={"COLL_TABLE": str(self.table)})
        self.assertRegex(text, r"(?m)^bcast +4 KiB .*flat_read:chunk=4096,depth=4 ")
        self.assertIn("MISSED", text)

    def test_without_choices_calibration_is_proposed(self):
        self.expect_error(1, "run collctl calibrate first", "bench", "prediction")
        self.expect_error(2, "a barrier", "bench", "prediction", "--collective", "barrier", env={"COLL_TABLE": self.rows()})
        self.expect_error(2, "--ranks", "bench", "prediction", "-n", 1)
        self.expect_error(2, "unknown collective 'bcats'", "bench", "prediction", "--collective", "bcats")
        self.expect_error(1, ["COLL_TABLE: /nowhere.json", "cannot be read"], "bench", "prediction",
                          env={"COLL_TABLE": "/nowhere.json"})

    def rows(self):
        self.write((4096, "flat_read", {}, 1))
        return str(self.table)


if __name__ == "__main__":
    main()
