# SPDX-License-Identifier: BSD-3-Clause
"""The critical path in the data of `collctl report`: of timelines whose path is known, and of simulated ones."""
import copy
import json
import pathlib
import tempfile

from cli import Case, main


def timeline(steps, posts):
    """steps: (rank, lane, kind, begin, end); posts: (rank, lane, us, the wait's rank, lane, end)."""
    row = lambda rank, lane: 10 * rank + lane
    events = [{"ph": "M", "name": "process_name", "args": {"name": "bcast test"}}]
    for rank, lane in sorted({step[:2] for step in steps}):
        events.append({"ph": "M", "name": "thread_name", "tid": row(rank, lane), "args": {"name": f"rank {rank} lane {lane}"}})
    for rank, lane, kind, begin, end in steps:
        events.append({"ph": "X", "name": kind, "tid": row(rank, lane), "ts": begin, "dur": end - begin,
                       "args": {"step": f"{kind} of rank {rank}", "pass": 0, "bytes": 64}})
    for number, (rank, lane, us, to, to_lane, end) in enumerate(posts):
        events += [{"ph": "s", "id": number, "tid": row(rank, lane), "ts": us}, {"ph": "f", "id": number, "tid": row(to, to_lane), "ts": end}]
    return {"otherData": {"origin": "recorded"}, "traceEvents": events}


# Rank 1 waits for the copy of rank 0.
WAITS = timeline([(0, 0, "copy", 1, 10), (1, 0, "copy", 0, 4), (1, 0, "wait", 4, 11), (1, 0, "reduce", 11, 15)], [(0, 0, 10, 1, 0, 11)])


class Path(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def line_of(self, trace):
        file = self.folder / "t.json"
        file.write_text(json.dumps(trace))
        return self.run_json("report", "--topology", "core:2", "-n", 2, "--trace", file)["timelines"][0]

    def path_of(self, trace):
        """The path, and its pieces as (row, kind or None, begin, end)."""
        line = self.line_of(trace)
        kind = lambda step: line["kinds"][line["slices"][step][1]] if step >= 0 else None
        return line["path"], [(line["rows"][row].removesuffix(" lane 0"), kind(step), begin, round(begin + us, 3))
                              for row, begin, us, step in line["path"]["hops"]]

    def test_a_wait_leads_to_its_post(self):
        path, pieces = self.path_of(WAITS)
        self.assertEqual(pieces, [("rank 0", None, 0, 1), ("rank 0", "copy", 1, 10), ("rank 1", "wait", 10, 11), ("rank 1", "reduce", 11, 15)])
        self.assertEqual(path["us"], {"copy": 9, "reduce": 4, "wait": 1, "start": 1, "other": 0})
        self.assertEqual([path[key] for key in ("begin_us", "end_us", "ranks", "pieces", "lost")], [0, 15, 2, 4, None])

    def test_a_rank_that_looks_late_delays_itself(self):
        _, pieces = self.path_of(timeline([(0, 0, "copy", 0, 10), (1, 0, "copy", 0, 20), (1, 0, "wait", 20, 20.1), (1, 0, "copy", 20.2, 24)],
                                          [(0, 0, 10, 1, 0, 20.1)]))
        self.assertEqual(pieces, [("rank 1", "copy", 0, 20), ("rank 1", "wait", 20, 20.1), ("rank 1", None, 20.1, 20.2), ("rank 1", "copy", 20.2, 24)])

    def test_a_flag_in_flight_is_waited_for(self):
        _, pieces = self.path_of(timeline([(0, 0, "copy", 0, 10), (1, 0, "copy", 0, 10.05), (1, 0, "wait", 10.05, 10.3), (1, 0, "copy", 10.3, 12)],
                                          [(0, 0, 10, 1, 0, 10.3)]))
        self.assertEqual(pieces[:2], [("rank 0", "copy", 0, 10), ("rank 1", "wait", 10, 10.3)])

    def test_another_lane_keeps_the_rank_busy(self):
        """The flag was set at 5, but the rank copied until 12."""
        steps = [(0, 0, "copy", 0, 5), (1, 0, "wait", 1, 12.1), (1, 0, "reduce", 12.1, 14), (1, 1, "copy", 0, 12)]
        _, pieces = self.path_of(timeline(steps, [(0, 0, 5, 1, 0, 12.1)]))
        self.assertEqual(pieces, [("rank 1 lane 1", "copy", 0, 12), ("rank 1", "wait", 12, 12.1), ("rank 1", "reduce", 12.1, 14)])
        # A copy that follows a shorter one of its own lane, but begins when another lane's has ended.
        _, pieces = self.path_of(timeline([(0, 0, "copy", 0, 2), (0, 1, "copy", 2, 9), (0, 0, "copy", 9, 11)], []))
        self.assertEqual([piece[0] for piece in pieces], ["rank 0", "rank 0 lane 1", "rank 0"])

    def test_a_wait_without_post_ends_it(self):
        trace = timeline([(0, 0, "copy", 0, 10), (1, 0, "wait", 4, 11), (1, 0, "reduce", 11, 15)], [])
        path, pieces = self.path_of(trace)
        self.assertEqual(pieces, [("rank 1", "reduce", 11, 15)])
        self.assertEqual((path["begin_us"], path["end_us"], path["lost"]), (11, 15, "rank 1 lane 0: wait of rank 1"))
        del trace["traceEvents"][-1]
        path, pieces = self.path_of(trace)  # the wait itself is the last step
        self.assertEqual((path["begin_us"], path["end_us"], pieces), (11, 11, []))

    def test_steps_that_take_no_time(self):
        steps = [(0, 0, "publish", 0, 0), (0, 0, "publish", 0, 0), (0, 0, "copy", 0, 3), (0, 0, "publish", 3, 3), (0, 1, "publish", 3, 3)]
        path, _ = self.path_of(timeline(steps, [(0, 0, 0, 0, 0, 0)]))
        self.assertEqual((path["begin_us"], path["us"]["copy"]), (0, 3))

    def test_flags_of_rows_without_steps(self):
        trace = copy.deepcopy(WAITS)
        for number, tid in (("a", 0), ("b", 77)):
            trace["traceEvents"].insert(0, {"ph": "s", "id": number, "tid": tid, "ts": 10})
        trace["traceEvents"][2:2] = [{"ph": "f", "id": "a", "tid": 77, "ts": 3}, {"ph": "f", "id": "b", "tid": 10, "ts": 11}]
        self.assertEqual(self.path_of(trace), self.path_of(WAITS))

    def test_simulated_paths_have_no_gap(self):
        """Each piece begins where the one before ended: in the same rank, or, of a wait, with a post of the other one."""
        trace, crossings = self.folder / "s.json", 0
        for collective, size, algorithm, ranks in (("allreduce", "64K", "hierarchical_by_index", 32), ("bcast", "256K", "hierarchical", 24),
                                                   ("alltoall", "16K", "pairwise", 8), ("reduce", "64K", "rg", 16)):
            self.run_fine("simulate", collective, size, "-n", ranks, "--machine", "arm-n1", "--algorithm", algorithm, "--transport", "shm", "--trace", trace)
            line = self.line_of(json.loads(trace.read_text()))
            path, rank = line["path"], lambda row: line["rows"][row].split(" lane ")[0]
            posts = {(rank(row), us, line["rows"][to], met) for row, us, to, met in line["arrows"]}
            now, before = 0, None
            for row, begin, us, step in path["hops"]:
                self.assertAlmostEqual(begin, now, 2, algorithm)
                if before is not None and rank(row) != rank(before):
                    self.assertEqual(line["kinds"][line["slices"][step][1]], "wait", algorithm)
                    self.assertTrue(any(of == rank(before) and to == line["rows"][row] and abs(at - begin) < 0.002 and abs(met - begin - us) < 0.002
                                        for of, at, to, met in posts), (algorithm, begin))
                    crossings += 1
                elif step >= 0:
                    _, kind, at, length, *_ = line["slices"][step]
                    self.assertAlmostEqual(at + length, begin + us, 2)
                    if line["kinds"][kind] != "wait":
                        self.assertAlmostEqual(at, begin, 2)
                now, before = begin + us, row
            self.assertAlmostEqual(now, line["end_us"], 2)
            self.assertAlmostEqual(sum(path["us"].values()), line["end_us"], 2)
            self.assertEqual((path["begin_us"], path["lost"], path["pieces"]), (0, None, len(path["hops"])))
        self.assertGreater(crossings, 10)


if __name__ == "__main__":
    main()
