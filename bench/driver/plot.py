# SPDX-License-Identifier: BSD-3-Clause
"""Draws times per size (both axes logarithmic) and, below, libcoll's speedup over the fastest baseline, for documents.
To explore results, use collctl report --bench, which has the numbers, too."""

from report import size_name
from statistics_of_rounds import COLLECTIVES, ratios

MOST_COLUMNS = 5
STYLES = {"openmpi": ("#e08214", "-"), "openmpi-nocma": ("#b35806", "--"), "openmpi-acoll": ("#fdb863", "-."),
          "openmpi-xhc": ("#b2182b", ":"), "openmpi-ucc": ("#d6604d", (0, (5, 1, 1, 1))),
          "mpich": ("#8073ac", "-"),
          "coll+openmpi": ("#1b7837", "-"), "coll+mpich": ("#41ab5d", "--"), "coll": ("#00441b", ":")}


def _style(name):
    colour, dash = STYLES.get(name, ("#333", "-"))
    return {"color": colour, "linestyle": dash, "linewidth": 2.2 if name.startswith("coll") else 1.4, "marker": "o", "markersize": 3}


def _frame(axes, cells, title):
    sizes = [cell[1] for cell in cells]
    axes.set_title(title, fontsize=10, fontweight="bold")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sizes[::max(1, -(-len(sizes) // 6))], minor=False)
    axes.xaxis.set_major_formatter(lambda size, _: size_name(int(size)).replace("iB", ""))
    axes.grid(True, color="#e4e4e4")
    axes.tick_params(labelsize=8)


def _gain_ticks(axes):
    axes.axhline(1, color="#555", linewidth=1.2)
    low, high = min(0.5, axes.get_ylim()[0]), max(2, axes.get_ylim()[1])
    axes.set_ylim(low / 1.05, high * 1.05)
    axes.set_yticks([tick for tick in (0.25, 0.5, 1, 2, 4, 8, 16) if low <= tick <= high])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}×")
    axes.yaxis.set_minor_formatter(lambda value, _: "")


def write_svg(path, table, contestants, headline):
    """`contestants` is [(name, title)] in the order of the legend; libcoll's names begin with "coll"."""
    try:
        import matplotlib
    except ImportError:
        raise SystemExit("--svg: matplotlib is not installed (apt-get install python3-matplotlib); the samples of --json can be "
                         "drawn later, with collctl report --bench") from None
    matplotlib.use("svg")
    from matplotlib import pyplot
    names = [name for name, _ in contestants]
    ours, peers = [n for n in names if n.startswith("coll")], [n for n in names if not n.startswith("coll")]
    collectives = [c for c in COLLECTIVES if any(cell[0] == c and cell[1] > 0 for cell in table)]
    columns = max(1, min(MOST_COLUMNS, len(collectives)))
    both = 2 if ours and peers else 1
    rows = -(-len(collectives) // columns) * both
    figure, grid = pyplot.subplots(rows, columns, figsize=(3.6 * columns, 2.6 * rows + 1.4), squeeze=False,
                                   gridspec_kw={"height_ratios": [2, 1][:both] * (rows // both)})
    for axes in grid.flat:
        axes.set_visible(False)
    for at, collective in enumerate(collectives):
        cells = [cell for cell in table if cell[0] == collective]
        times = grid[at // columns * both][at % columns]
        times.set_visible(True)
        _frame(times, cells, f"{collective}: time, µs")
        for name in names:
            points = [(cell[1], table[cell][name]) for cell in cells if name in table[cell]]
            times.plot(*zip(*points), **_style(name)) if points else None
        if both == 1:
            continue
        gains = grid[at // columns * both + 1][at % columns]
        gains.set_visible(True)
        _frame(gains, cells, "speedup over the fastest baseline")
        for name in ours:
            found = ratios(table, name, peers)
            points = [(cell[1], found[cell]) for cell in cells if cell in found]
            gains.plot(*zip(*points), **_style(name)) if points else None
        _gain_ticks(gains)
    figure.suptitle(headline, fontsize=11)
    handles = [pyplot.Line2D([], [], label=title, **_style(name)) for name, title in contestants]
    figure.legend(handles=handles, loc="lower center", ncol=2, fontsize=9, frameon=False)
    figure.tight_layout(rect=(0, 1 / (2.6 * rows + 1.4), 1, 1))
    figure.savefig(path, format="svg", metadata={"Date": None})
    pyplot.close(figure)
