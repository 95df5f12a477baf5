# SPDX-License-Identifier: BSD-3-Clause
"""Times per size (both axes logarithmic) and, below, libcoll's gain over the fastest baseline, as SVG written by hand."""

import math
from xml.sax.saxutils import escape

from report import size_name
from statistics_of_rounds import COLLECTIVES, ratios

PANEL_W, TIME_H, GAIN_H = 270, 220, 110
LEFT, GAP, RIGHT, TOP, BETWEEN = 66, 62, 16, 66, 62
MOST_COLUMNS, LEGEND_W = 5, 372
STYLES = {"openmpi": ("#e08214", ""), "openmpi-nocma": ("#b35806", "5 4"), "openmpi-acoll": ("#fdb863", "7 3"),
          "openmpi-xhc": ("#b2182b", "2 2"), "openmpi-ucc": ("#d6604d", "9 2 2 2"), "mpich": ("#8073ac", ""),
          "coll+openmpi": ("#1b7837", ""), "coll+mpich": ("#41ab5d", "7 3"), "coll": ("#00441b", "2 2")}
FONT = 'font-family="DejaVu Sans, Helvetica, sans-serif"'


def _text(x, y, text, size=11, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" {FONT} {more}>{escape(text)}</text>'


def _stroke(name):
    colour, dash = STYLES.get(name, ("#333", ""))
    width = 2.6 if name.startswith("coll") else 1.8
    return f'stroke="{colour}" stroke-width="{width}"' + (f' stroke-dasharray="{dash}"' if dash else "")


class Panel:
    """One frame: sizes across (log 2), values up (log 10)."""

    def __init__(self, x, y, height, sizes, low, high):
        self.x, self.y, self.height, self.low, self.high = x, y, height, low, high
        self.first, self.span = math.log2(sizes[0]), math.log2(sizes[-1] / sizes[0]) or 1
        self.out = []
        for i, size in enumerate(sizes):
            if i % 2 == 0 or len(sizes) <= 6:
                at = self.at(size, low)[0]
                self.out.append(f'<path d="M{at:.1f} {y}v{height}" stroke="#e8e8e8"/>')
                self.out.append(_text(at, y + height + 15, size_name(size).replace("iB", "")))

    def at(self, size, value):
        up = (math.log10(value) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))
        return (self.x + (math.log2(size) - self.first) / self.span * PANEL_W, self.y + self.height * (1 - up))

    def tick(self, value, label, colour="#ddd"):
        y = self.y + self.height * (math.log10(self.high / value) / math.log10(self.high / self.low))
        self.out.append(f'<path d="M{self.x} {y:.1f}h{PANEL_W}" stroke="{colour}"/>')
        self.out.append(_text(self.x - 5, y + 4, label, anchor="end"))

    def line(self, name, points):
        """points: [(size, value)]"""
        where = [self.at(size, min(max(value, self.low), self.high)) for size, value in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in where)
        self.out.append(f'<polyline points="{path}" fill="none" {_stroke(name)}/>')
        self.out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{STYLES.get(name, ("#333",))[0]}"/>' for x, y in where]

    def svg(self):
        frame = f'<rect x="{self.x}" y="{self.y}" width="{PANEL_W}" height="{self.height}" fill="none" stroke="#888"/>'
        return self.out + [frame]


def _times(x, y, cells, table, names):
    times = [table[cell][n] for cell in cells for n in names if n in table[cell]]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    panel = Panel(x, y, TIME_H, [c[1] for c in cells], 10.0 ** low, 10.0 ** high)
    for power in range(low, high + 1):
        panel.tick(10.0 ** power, f"{10.0 ** power:g} µs" if power < 3 else f"{10.0 ** (power - 3):g} ms")
    for name in names:
        panel.line(name, [(cell[1], table[cell][name]) for cell in cells if name in table[cell]])
    return panel.svg()


def _gains(x, y, cells, table, ours, peers):
    gains = {name: ratios(table, name, peers) for name in ours}
    values = [g[c] for g in gains.values() for c in cells if c in g]
    panel = Panel(x, y, GAIN_H, [c[1] for c in cells], min([0.5, *values]) / 1.05,
                  max([2, *values]) * 1.1)
    for tick in (0.25, 0.5, 1, 2, 4, 8, 16):
        if panel.low <= tick <= panel.high:
            panel.tick(tick, f"{tick:g}×", "#555" if tick == 1 else "#ddd")
    for name in ours:
        panel.line(name, [(c[1], gains[name][c]) for c in cells if c in gains[name]])
    return panel.svg()


def write_svg(path, table, contestants, headline):
    """`contestants` is [(name, title)] in the order of the legend; libcoll's names begin with "coll"."""
    names = [name for name, _ in contestants]
    ours, peers = [n for n in names if n.startswith("coll")], [n for n in names if not n.startswith("coll")]
    collectives = [c for c in COLLECTIVES if any(cell[0] == c and cell[1] > 0 for cell in table)]
    columns = max(1, min(MOST_COLUMNS, len(collectives)))
    width = max(LEFT + columns * (PANEL_W + GAP) - GAP + RIGHT, LEFT + 2 * LEGEND_W)
    row_height = TIME_H + BETWEEN + (GAIN_H + BETWEEN if ours and peers else 0)
    out = [_text(width / 2, 22, headline, 13)]
    for i, collective in enumerate(collectives):
        cells = [cell for cell in table if cell[0] == collective]
        x, y = LEFT + i % columns * (PANEL_W + GAP), TOP + i // columns * row_height
        out.append(_text(x + PANEL_W / 2, y - 8, f"{collective}: time", 13, more='font-weight="bold"'))
        out += _times(x, y, cells, table, names)
        if ours and peers:
            y += TIME_H + BETWEEN
            out.append(_text(x + PANEL_W / 2, y - 8, "speedup over the fastest baseline", 13, more='font-weight="bold"'))
            out += _gains(x, y, cells, table, ours, peers)
    y = TOP + -(-len(collectives) // columns) * row_height - 20
    in_a_row = (width - LEFT) // LEGEND_W
    for i, (name, title) in enumerate(contestants):
        x, row = LEFT + i % in_a_row * LEGEND_W, y + i // in_a_row * 19
        out.append(f'<path d="M{x} {row}h30" {_stroke(name)}/>')
        out.append(_text(x + 37, row + 4, title.replace("btl_vader_single_copy_mechanism", "btl_vader_single_copy…"), anchor="start"))
    height = y + 19 * -(-len(contestants) // in_a_row) + 2
    with open(path, "w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n<!-- SPDX-License-Identifier: BSD-3-Clause -->\n'
                   f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
                   '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(out) + "\n</svg>\n")
