#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The intervals of paired.py on simulated launches: how often they contain the truth, and what they find."""
import math
import os
import random
import sys
import unittest

import paired

SEED = int(os.environ.get("COLL_TEST_SEED") or random.SystemRandom().randrange(1 << 32))
print(f"COLL_TEST_SEED={SEED}", file=sys.stderr)


def simulated(rng, pairs, truth, noise, drift=0.0, outliers=0.0, run=0, collective="bcast", flag=200.0):
    """Samples of one cell in one run. Logarithms of the times: independent noise of each launch, noise that persists
    over some launches, linear drift over the run, and some launches that take 1.4 times as long."""
    samples, persistent = [], 0.0
    launches = [(pair, side) for pair in range(pairs) for side in paired.order(pair)]
    for at, (pair, side) in enumerate(launches):
        persistent = 0.8 * persistent + rng.gauss(0, noise / 3)
        log = rng.gauss(0, noise) + persistent + drift * at / (2 * pairs)
        log += math.log(1.4) if rng.random() < outliers else 0
        time_us = 10 * math.exp(log) * (truth if side == "now" else 1)
        samples.append({"collective": collective, "bytes": 64, "run": run, "pair": pair, "side": side,
                        "time_us": time_us, "flag_ns_before": flag, "flag_ns_after": flag})
    return samples


def found(samples):
    ratios, _ = paired.pair_up(samples)
    return paired.interval(ratios["bcast", 64, "far"][0])


class Coverage(unittest.TestCase):
    def share(self, trials, pairs, truth, **how):
        rng = random.Random(SEED)
        held = [found(simulated(rng, pairs, truth, **how)) for _ in range(trials)]
        return sum(i.low <= truth <= i.high for i in held) / trials

    def test_about_95_percent_of_the_intervals_contain_the_truth(self):
        for pairs in (6, 10, 15, 30):
            for how in ({"noise": 0.02}, {"noise": 0.02, "drift": 0.2}, {"noise": 0.02, "drift": 0.2, "outliers": 0.1}):
                with self.subTest(pairs=pairs, **how):
                    share = self.share(1500, pairs, 1.02, **how)
                    self.assertGreater(share, 0.915)
                    self.assertLess(share, 0.99)

    def test_drift_alone_does_not_look_like_a_slowdown(self):
        """Without alternation the second launch of each pair would be slower by the drift between two launches."""
        rng = random.Random(SEED)
        ratios = [found(simulated(rng, 10, 1.0, 0.001, drift=1.0)).ratio for _ in range(200)]
        self.assertLess(abs(sum(ratios) / len(ratios) - 1), 0.01)


class Verdicts(unittest.TestCase):
    def verdicts(self, trials, truth, pairs=15, **how):
        rng = random.Random(SEED)
        result = []
        for _ in range(trials):
            samples = [s for run in range(3) for s in simulated(rng, pairs, truth, run=run, **how)]
            result += [cell["verdict"] for cell in paired.cells(samples, 3)[0]]
        return result

    def test_a_slowdown_of_5_percent_is_found(self):
        seen = self.verdicts(100, 1.05, noise=0.006, drift=0.1)
        self.assertGreater(seen.count("slower"), 90)

    def test_a_speedup_of_5_percent_is_found(self):
        self.assertGreater(self.verdicts(100, 1 / 1.06, noise=0.006, drift=0.1).count("faster"), 90)

    def test_identical_builds_give_no_slower_cell(self):
        for noise in (0.005, 0.03, 0.1):
            with self.subTest(noise=noise):
                self.assertEqual(set(self.verdicts(300, 1.0, noise=noise, drift=0.2, outliers=0.1)), {""})

    def test_one_run_that_disagrees_decides(self):
        rng = random.Random(SEED)
        samples = [s for run in range(3) for s in simulated(rng, 10, 1.5 if run else 1.0, 0.005, run=run)]
        self.assertEqual([cell["verdict"] for cell in paired.cells(samples, 3)[0]], [""])


class Intervals(unittest.TestCase):
    def test_order_statistics(self):
        """Ten values: ranks 2 and 9 cover 97.9 %, 3 and 8 cover 89.1 %; the interval lies between them."""
        self.assertAlmostEqual(paired.coverage(10, 2), 0.978516, 5)
        self.assertAlmostEqual(paired.coverage(10, 3), 0.890625, 5)
        values = [1 + i / 100 for i in range(10)]
        i = paired.interval(random.Random(SEED).sample(values, 10))
        self.assertEqual(i.pairs, 10)
        self.assertAlmostEqual(i.ratio, 1.045, 4)
        self.assertTrue(values[1] < i.low < values[2] and values[7] < i.high < values[8], i)

    def test_six_pairs_are_needed(self):
        self.assertIsNone(paired.interval([1.0] * 5))
        self.assertEqual(paired.interval([2.0] * 6)[0], 6)
        self.assertIsNone(paired.verdict([paired.interval([2.0] * 6), None]))


class Distances(unittest.TestCase):
    def test_near_and_far_cores_are_separate_cells(self):
        rng = random.Random(SEED)
        samples = [s for run in range(4)
                   for s in simulated(rng, 10, 1.2, 0.001, run=run % 2, flag=50.0 if run < 2 else 200.0)]
        for s in samples[40:]:
            s["pair"] += 10
        cells, moved = paired.cells(samples, 2)
        self.assertEqual([(c["cores"], c["verdict"]) for c in cells], [("near", "slower"), ("far", "slower")])
        self.assertEqual(moved, 0)

    def test_pairs_during_which_the_cores_moved_are_dropped(self):
        samples = simulated(random.Random(SEED), 10, 1.0, 0.001)
        samples[0]["flag_ns_after"] = 50.0                                      # within a launch
        samples[2].update(flag_ns_before=50.0, flag_ns_after=50.0)              # between two launches
        samples[4]["flag_ns_after"] = samples[5]["flag_ns_after"] = 50.0        # within both
        cells, moved = paired.cells(samples, 1)
        self.assertEqual((len(cells), cells[0]["runs"][0].pairs, moved), (1, 7, 3))

    def test_oversubscribed_ranks_have_no_distance(self):
        cells, moved = paired.cells(simulated(random.Random(SEED), 10, 1.0, 0.001, flag=0.0), 1)
        self.assertEqual((cells[0]["cores"], moved), ("", 0))

    def test_launches_alternate(self):
        self.assertEqual([side[0] for pair in range(4) for side in paired.order(pair)], list("bnnbbnnb"))

    def test_a_distance_counts_if_all_runs_have_enough_pairs(self):
        rng = random.Random(SEED)
        near, far = 50.0, 200.0
        first = simulated(rng, 6, 1.0, 0.001, flag=near)
        self.assertEqual(paired.distances_with_enough_pairs(first, 0, "bcast"), {"near"})
        self.assertEqual(paired.distances_with_enough_pairs(first + simulated(rng, 6, 1.0, 0.001, run=1, flag=far), 1, "bcast"), set())
        self.assertEqual(paired.distances_with_enough_pairs(first + simulated(rng, 5, 1.0, 0.001, run=1, flag=near), 1, "bcast"), set())
        self.assertEqual(paired.distances_with_enough_pairs(first + simulated(rng, 6, 1.0, 0.001, run=1, flag=near), 1, "bcast"),
                         {"near"})


if __name__ == "__main__":
    unittest.main()
