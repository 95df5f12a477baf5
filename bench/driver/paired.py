# SPDX-License-Identifier: BSD-3-Clause
"""Paired comparison of two builds: from launches to ratios, their confidence interval, and a verdict.

Launches alternate A B B A A B B A ...; two adjacent launches form a pair, which gives one ratio (time now / time
before). Slow drift of the machine makes the ratio too large in one pair and too small in the next, so the median of
the ratios is not affected. Its confidence interval comes from the sign test: for independent pairs the number of
ratios below their median is binomial, whatever the distribution. Order statistics give a few levels only, so the
interval is interpolated between the two nearest to 95 % (Hettmansperger and Sheather 1986), on the logarithm of the
ratios. Nothing is random."""

import collections
import math
import statistics

from statistics_of_rounds import NEAR_NS, flags_of

SIDES = ("before", "now")
SLOWER = 1.03       # a cell is slower when the interval lies above this in all runs, faster below its inverse
CONFIDENCE = 0.95
LEAST_PAIRS = 6     # with fewer pairs even the widest interval covers less than 95 %

Interval = collections.namedtuple("Interval", "pairs ratio low high")


def order(pair):
    """Returns the order of the launches of one pair: each side is first in every other pair."""
    return SIDES if pair % 2 == 0 else SIDES[::-1]


def cores_of(sample):
    """The distance of the two cores during a sample: "near", "far", "" when not measured, None when it changed."""
    found = {"near" if flag < NEAR_NS else "far" for flag in flags_of(sample)}
    return None if len(found) > 1 else found.pop() if found else ""


def pair_up(samples):
    """({(collective, bytes, cores): {run: [ratio, ...]}}, number of pairs dropped because the cores moved)."""
    both = collections.defaultdict(dict)
    for sample in samples:
        both[sample["run"], sample["pair"], sample["collective"], sample["bytes"]][sample["side"]] = sample
    ratios, moved = {}, 0
    for (run, _, collective, size), sides in both.items():
        if sides.keys() != set(SIDES):
            continue
        before, now = (sides[side] for side in SIDES)
        cores = cores_of(before)
        if cores is None or cores_of(now) != cores:
            moved += 1
            continue
        ratios.setdefault((collective, size, cores), {}).setdefault(run, []).append(now["time_us"] / before["time_us"])
    return ratios, moved


def distances_with_enough_pairs(samples, run, collective):
    """Returns the distances at which every size of a collective has enough pairs in this run and all before it."""
    ratios, _ = pair_up([s for s in samples if s["collective"] == collective])
    sizes = {s["bytes"] for s in samples if s["collective"] == collective}
    return {cores for cores in ("near", "far", "")
            if all(len(ratios.get((collective, size, cores), {}).get(r, [])) >= LEAST_PAIRS
                   for size in sizes for r in range(run + 1))}


def coverage(pairs, rank):
    """The probability that the median lies between the rank-th smallest and the rank-th largest of `pairs` values."""
    return 1 - 2 * sum(math.comb(pairs, below) for below in range(rank)) / 2 ** pairs


def interval(ratios):
    """The median of the ratios with its interval; None where there are too few."""
    n = len(ratios)
    if n < LEAST_PAIRS:
        return None
    x = sorted(map(math.log, ratios))
    rank = max(r for r in range(1, n // 2 + 1) if coverage(n, r) >= CONFIDENCE)
    wide, narrow = coverage(n, rank), coverage(n, rank + 1)
    share = (wide - CONFIDENCE) / (wide - narrow)
    inwards = (n - rank) * share / (rank + (n - 2 * rank) * share)
    low = x[rank - 1] + inwards * (x[rank] - x[rank - 1])
    high = x[n - rank] + inwards * (x[n - rank - 1] - x[n - rank])
    return Interval(n, *map(math.exp, (statistics.median(x), low, high)))


def verdict(intervals):
    """"slower", "faster" or "" for one cell's intervals, one per run; None when a run has no interval."""
    if None in intervals:
        return None
    if all(found.low > SLOWER for found in intervals):
        return "slower"
    if all(found.high < 1 / SLOWER for found in intervals):
        return "faster"
    return ""


def cells(samples, runs):
    """([{collective, bytes, cores, before_us, now_us, runs: [Interval or None], verdict}], pairs dropped). Times are
    medians over launches."""
    ratios, moved = pair_up(samples)
    times = collections.defaultdict(list)
    for s in samples:
        times[s["collective"], s["bytes"], cores_of(s), s["side"]].append(s["time_us"])
    found = []
    for key, of_run in ratios.items():
        intervals = [interval(of_run.get(run, [])) for run in range(runs)]
        found.append({"collective": key[0], "bytes": key[1], "cores": key[2],
                      **{f"{side}_us": statistics.median(times[(*key, side)]) for side in SIDES},
                      "runs": intervals, "verdict": verdict(intervals)})
    return sorted(found, key=lambda cell: cell["cores"], reverse=True), moved
