# SPDX-License-Identifier: BSD-3-Clause
"""Prints tables and verdicts."""

import math

from statistics_of_rounds import (COLLECTIVES, TARGET_TO_BYTES, MEAN_FROM_BYTES, NEAR_LIMIT_FROM_BYTES, NEAR_NS, NOISE,
                                  geomean, mean_below_limit, ratios, verdicts)


def size_name(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}" if size % unit == 0 else f"{size / unit:.1f} {name}"
    return f"{size} B"


def time_name(us):
    return f"{us:.2f}" if us < 100 else f"{us:.0f}"


def distance_name(flag):
    if flag is None:
        return "not measured (ranks share cores)"
    return f"{flag:.0f} ns one way ({'one L3' if flag < NEAR_NS else 'two L3s'})"


def print_table(table, names, peers):
    """Prints one block per collective: medians in us, and for each libcoll column how many times as fast it is as the
    fastest of its baselines, {libcoll's name: [names]}."""
    ours = list(peers)
    gains = {name: ratios(table, name, peers[name]) for name in ours}
    headings = list(names) + [f"gain:{name}" if len(ours) > 1 else "gain" for name in ours]
    widths = [max(9, len(h)) for h in headings]
    for collective in COLLECTIVES:
        cells = [cell for cell in table if cell[0] == collective]
        if not cells:
            continue
        print(f"\n{collective:>14}  " + "  ".join(h.rjust(w) for h, w in zip(headings, widths)))
        for cell in cells:
            values = [time_name(table[cell][n]) if n in table[cell] else "-" for n in names]
            values += [f"{gains[n][cell]:.2f}x" if cell in gains[n] else "-" for n in ours]
            label = size_name(cell[1]) if collective != "barrier" else "-"
            print(f"{label:>14}  " + "  ".join(v.rjust(w) for v, w in zip(values, widths)))
        if ours and len(cells) > 1:
            means = [geomean(g for c, g in gains[n].items() if c[0] == collective) for n in ours]
            values = [""] * len(names) + [f"{m:.2f}x" if m else "-" for m in means]
            print(f"{'geomean':>14}  " + "  ".join(v.rjust(w) for v, w in zip(values, widths)))


def mean_over(table):
    """Returns a text for the sizes over which verdicts() takes the mean, for each group of collectives."""
    groups = {}
    for collective in COLLECTIVES:
        least, most = MEAN_FROM_BYTES.get(collective, 0), TARGET_TO_BYTES.get(collective, math.inf)
        sizes = [size for name, size in table if name == collective and size <= most]
        sizes = [size for size in sizes if size >= least] or sizes
        if collective != "barrier" and sizes:
            groups.setdefault((min(sizes), max(sizes)), []).append(collective)
    ordered = sorted(groups.items(), key=lambda group: len(group[1]), reverse=True)
    texts = [f"{size_name(least)} to {size_name(most)} per rank" if first else
             f"{', '.join(names)}: {size_name(least)} to {size_name(most)}"
             for first, ((least, most), names) in zip([True] + [False] * len(ordered), ordered)]
    return "geometric mean over " + texts[0] + (f" ({'; '.join(texts[1:])})" if texts[1:] else "") if texts else "median"


def print_verdicts(table, peers):
    """The targets: in no cell slower than the fastest baseline, and a least geometric mean. Returns True if all hold."""
    good = True
    for name in peers:
        for collective, mean, target, slower, passed in verdicts(table, name, peers[name]):
            good &= passed
            below = mean_below_limit(table, name, peers[name], collective)
            line = (f"{'pass' if passed else 'FAIL'}  {name} {collective}: {mean:.2f} times as fast (target {target}"
                    + (f"; {below:.2f} below {size_name(NEAR_LIMIT_FROM_BYTES[collective])}" if below else "") + ")")
            if slower:
                cells = ", ".join(f"{size_name(c[1])} {r:.2f}x" + (" (within noise)" if r >= 1 - NOISE else "")
                                  for c, r in slower.items())
                line += f"; slower than the fastest baseline at {cells}"
            print(line)
    return good
