# SPDX-License-Identifier: BSD-3-Clause
"""From rows of many launches to one median per contestant and cell, ratios, and a verdict on the targets."""

import collections
import math
import statistics

COLLECTIVES = ("barrier", "bcast", "reduce", "allreduce", "scatter", "gather", "allgather", "alltoall", "reduce_scatter",
               "scan", "exscan")
NEAR_NS = 120          # one-way flag time below which two cores are called near
SAME_DISTANCE = 0.20   # samples whose flag time is further than this from the run's median are dropped
TARGET_GEOMEAN = dict.fromkeys(COLLECTIVES, 1.25) | {"allreduce": 1.5, "reduce_scatter": 1.8}
# Collectives with blocks, and scans: the largest size with a target, and the least one in the mean; the others use all sizes.
TARGET_TO_BYTES = dict.fromkeys(COLLECTIVES[4:], 4 << 20)
MEAN_FROM_BYTES = dict.fromkeys(COLLECTIVES[4:], 4 << 10)
# Sizes from which all contestants stand near the machine's limit: the mean of smaller sizes is reported separately.
NEAR_LIMIT_FROM_BYTES = {"allgather": 1 << 20, "alltoall": 1 << 20}
NOISE = 0.03           # reported with a cell that fails by less; the verdict does not use it


def flags_of(row):
    """Returns the distances of the two cores before and after a sample; none if ranks are oversubscribed."""
    return [row[key] for key in ("flag_ns_before", "flag_ns_after") if row.get(key)]


def flag_ns(rows):
    """The run's usual distance between the two cores, or None when it was not measured (more ranks than cores)."""
    seen = [flag for row in rows for flag in flags_of(row)]
    return statistics.median(seen) if seen else None


def drop_moved(rows, cores=None):
    """Virtual machines move: keep the samples taken at the usual distance, or all taken while the cores were `cores`,
    "near" or "far". Returns (kept, dropped)."""
    usual = flag_ns(rows)
    if usual is None:
        return rows, []

    def counts(flag):
        return abs(flag / usual - 1) <= SAME_DISTANCE if cores is None else (flag < NEAR_NS) == (cores == "near")

    kept = [r for r in rows if all(map(counts, flags_of(r)))]
    return kept, [r for r in rows if not all(map(counts, flags_of(r)))]


def number_variants(rows):
    """Numbers the rows of a cell in one launch: if there are several, the contestant has that many variants."""
    seen = collections.Counter()
    for row in rows:
        cell = row["collective"], row["bytes"]
        row["way"] = seen[cell]
        seen[cell] += 1
    return rows


def medians(rows):
    """{(collective, bytes): {contestant: median over rounds of the round's median, in us}}; of a contestant's variants
    the fastest by this median (the minimum of every round would select for luck)."""
    samples = {}
    for row in rows:
        variants = samples.setdefault((row["collective"], row["bytes"]), {}).setdefault(row["contestant"], {})
        variants.setdefault(row.get("way", 0), []).append(row["median_us"])
    order = sorted(samples, key=lambda cell: (COLLECTIVES.index(cell[0]), cell[1]))
    return {cell: {who: min(map(statistics.median, variants.values())) for who, variants in samples[cell].items()}
            for cell in order}


def ratios(table, ours, peers):
    """{cell: fastest baseline / ours}: above 1 where libcoll is faster. Cells that lack either side are left out."""
    result = {}
    for cell, times in table.items():
        best = [times[p] for p in peers if p in times]
        if best and ours in times:
            result[cell] = min(best) / times[ours]
    return result


def geomean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def mean_below_limit(table, ours, peers, collective):
    """The geometric mean without the sizes that stand near the machine's limit; None where no size does."""
    least, most = MEAN_FROM_BYTES.get(collective, 0), NEAR_LIMIT_FROM_BYTES.get(collective, 0)
    return geomean(ratio for cell, ratio in ratios(table, ours, peers).items()
                   if cell[0] == collective and least <= cell[1] < most)


def verdicts(table, ours, peers):
    """[(collective, geometric mean, target, slower cells, passed)] of one libcoll contestant."""
    found = ratios(table, ours, peers)
    result = []
    for collective in COLLECTIVES:
        mine = {cell: ratio for cell, ratio in found.items()
                if cell[0] == collective and cell[1] <= TARGET_TO_BYTES.get(collective, math.inf)}
        if mine:
            least = MEAN_FROM_BYTES.get(collective, 0)
            large = [ratio for cell, ratio in mine.items() if cell[1] >= least]
            mean, slower = geomean(large or mine.values()), {c: r for c, r in mine.items() if r < 1}
            result.append((collective, mean, TARGET_GEOMEAN[collective], slower,
                           mean >= TARGET_GEOMEAN[collective] and not slower))
    return result
