# SPDX-License-Identifier: BSD-3-Clause
"""The figures that decide: medians, dropped samples, gains and verdicts."""

import unittest

import statistics_of_rounds as stats


def row(contestant, collective, size, median_us, flag=100.0):
    return {"contestant": contestant, "collective": collective, "bytes": size, "median_us": median_us,
            "flag_ns_before": flag, "flag_ns_after": flag}


class Medians(unittest.TestCase):
    def test_one_median_per_contestant_and_cell_in_order_of_size(self):
        rows = [row("mpich", "bcast", 64, t) for t in (3, 1, 2)] + [row("mpich", "bcast", 4, 7), row("mpich", "barrier", 0, 5)]
        table = stats.medians(rows)
        self.assertEqual(list(table), [("barrier", 0), ("bcast", 4), ("bcast", 64)])
        self.assertEqual(table["bcast", 64], {"mpich": 2})


class Variants(unittest.TestCase):
    def test_the_variant_with_the_lowest_median_counts(self):
        rounds = [[row("limit", "bcast", 64, first), row("limit", "bcast", 64, second), row("limit", "bcast", 4, 5)]
                  for first, second in ((3, 9), (3, 2), (3, 9))]
        rows = [numbered for found in rounds for numbered in stats.number_variants(found)]
        self.assertEqual(stats.medians(rows), {("bcast", 4): {"limit": 5}, ("bcast", 64): {"limit": 3}})


class Distance(unittest.TestCase):
    def test_samples_taken_while_the_cores_were_elsewhere_are_dropped(self):
        rows = [row("mpich", "bcast", 4, 1.0)] * 4 + [row("mpich", "bcast", 4, 9.0, flag=250.0)]
        kept, dropped = stats.drop_moved(rows)
        self.assertEqual((len(kept), len(dropped)), (4, 1))
        self.assertEqual(dropped[0]["median_us"], 9.0)

    def test_a_move_within_a_sample_is_seen(self):
        moved = dict(row("mpich", "bcast", 4, 9.0), flag_ns_after=250.0)
        self.assertEqual(stats.drop_moved([row("mpich", "bcast", 4, 1.0)] * 4 + [moved])[1], [moved])

    def test_either_distance_can_be_asked_for(self):
        near = [row("mpich", "bcast", 4, 1.0, flag=flag) for flag in (35.0, 60.0)]
        far = [row("mpich", "bcast", 4, 9.0, flag=flag) for flag in (190.0, 220.0, 270.0)]
        moved = dict(near[0], flag_ns_after=250.0)
        self.assertEqual(stats.drop_moved(near + far + [moved], "near"), (near, far + [moved]))
        self.assertEqual(stats.drop_moved(near + far + [moved], "far"), (far, near + [moved]))

    def test_without_a_measured_distance_all_are_kept(self):
        rows = [row("mpich", "bcast", 4, 1.0, flag=0)] * 3
        self.assertEqual(stats.drop_moved(rows), (rows, []))


class Verdicts(unittest.TestCase):
    def test_the_fastest_peer_of_each_cell_counts(self):
        table = {("bcast", 4): {"openmpi": 2.0, "mpich": 4.0, "coll": 1.0}, ("bcast", 64): {"openmpi": 4.0, "mpich": 2.0, "coll": 1.0}}
        self.assertEqual(stats.ratios(table, "coll", ["openmpi", "mpich"]), {("bcast", 4): 2.0, ("bcast", 64): 2.0})

    def test_one_slower_cell_fails_a_good_mean(self):
        table = {("bcast", 4): {"openmpi": 9.0, "coll": 1.0}, ("bcast", 64): {"openmpi": 0.99, "coll": 1.0}}
        (collective, mean, target, slower, passed), = stats.verdicts(table, "coll", ["openmpi"])
        self.assertEqual((collective, target, list(slower), passed), ("bcast", 1.25, [("bcast", 64)], False))
        self.assertGreater(mean, target)

    def test_allreduce_must_gain_more(self):
        table = {("allreduce", 4): {"openmpi": 1.4, "coll": 1.0}, ("bcast", 4): {"openmpi": 1.4, "coll": 1.0}}
        self.assertEqual([(v[0], v[4]) for v in stats.verdicts(table, "coll", ["openmpi"])], [("bcast", True), ("allreduce", False)])

    def test_the_mean_of_collectives_of_pieces_is_over_the_larger_sizes(self):
        sizes = {4: 1.0, 4096: 1.5, 4 << 20: 1.5, 16 << 20: 0.5}
        table = {("scatter", size): {"openmpi": gain, "coll": 1.0} for size, gain in sizes.items()}
        (collective, mean, target, slower, passed), = stats.verdicts(table, "coll", ["openmpi"])
        self.assertEqual((collective, round(mean, 6), target, slower, passed), ("scatter", 1.5, 1.25, {}, True))

    def test_the_mean_below_the_limit_is_reported_separately(self):
        table = {("alltoall", size): {"openmpi": gain, "coll": 1.0}
                 for size, gain in {64: 9.0, 4096: 1.6, 65536: 1.6, 1 << 20: 1.0, 4 << 20: 1.0}.items()}
        self.assertAlmostEqual(stats.mean_below_limit(table, "coll", ["openmpi"], "alltoall"), 1.6)
        self.assertIsNone(stats.mean_below_limit(table, "coll", ["openmpi"], "scatter"))

    def test_a_cell_that_only_one_side_measured_gives_no_gain(self):
        table = {("bcast", 4): {"coll": 1.0}, ("bcast", 64): {"openmpi": 1.0}}
        self.assertEqual(stats.ratios(table, "coll", ["openmpi"]), {})


if __name__ == "__main__":
    unittest.main()
