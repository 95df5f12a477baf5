# SPDX-License-Identifier: BSD-3-Clause
"""A plot of times per size, both axes logarithmic, one panel per collective, as SVG written by hand."""

import math
from xml.sax.saxutils import escape

from report import size_name

WIDTH, PANEL_W, PANEL_H, LEFT, TOP, GAP = 1130, 330, 300, 62, 92, 38
COLOURS = {"openmpi": "#e08214", "openmpi-nocma": "#b35806", "mpich": "#8073ac",
           "coll+openmpi": "#1b7837", "coll+mpich": "#41ab5d", "coll": "#00441b"}
DASHES = {"openmpi-nocma": "5 4", "coll+mpich": "7 3"}
TEXT = 'font-family="DejaVu Sans, Helvetica, sans-serif"'


def _text(x, y, text, size=12, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" {TEXT} {extra}>{escape(text)}</text>'


def _panel(out, x0, title, cells, table, names):
    sizes = [cell[1] for cell in cells]
    times = [t for cell in cells for n, t in table[cell].items() if n in names]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    x_low, x_high = math.log2(sizes[0]), math.log2(sizes[-1]) if len(sizes) > 1 else math.log2(sizes[0]) + 1

    def at(size, time):
        return (x0 + (math.log2(size) - x_low) / (x_high - x_low) * PANEL_W,
                TOP + PANEL_H - (math.log10(time) - low) / (high - low) * PANEL_H)

    out.append(f'<rect x="{x0}" y="{TOP}" width="{PANEL_W}" height="{PANEL_H}" fill="none" stroke="#888"/>')
    out.append(_text(x0 + PANEL_W / 2, TOP - 9, title, 15, extra='font-weight="bold"'))
    for power in range(low, high + 1):
        y = at(sizes[0], 10.0 ** power)[1]
        out.append(f'<line x1="{x0}" x2="{x0 + PANEL_W}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        label = f"{10 ** power:g} us" if power < 3 else f"{10 ** (power - 3):g} ms"
        out.append(_text(x0 - 5, y + 4, label.replace("us", "µs"), 11, "end"))
    for size in sizes[::2] if len(sizes) > 6 else sizes:
        x = at(size, 10.0 ** low)[0]
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{TOP + PANEL_H}" stroke="#eee"/>')
        out.append(_text(x, TOP + PANEL_H + 17, size_name(size).replace("iB", ""), 11))
    for name in names:
        points = [at(cell[1], table[cell][name]) for cell in cells if name in table[cell]]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        colour, dash = COLOURS.get(name, "#333"), DASHES.get(name)
        width = 2.6 if name.startswith("coll") else 1.8
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"'
                   + (f' stroke-dasharray="{dash}"' if dash else "") + "/>")
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>' for x, y in points]


def write_svg(path, table, contestants, headline):
    """`contestants` is [(name, title)] in the order of the legend."""
    names = [name for name, _ in contestants]
    panels = [(c, [cell for cell in table if cell[0] == c]) for c in ("bcast", "reduce", "allreduce")]
    panels = [(c, cells) for c, cells in panels if cells]
    out = [_text(WIDTH / 2, 24, headline, 14)]
    for i, (collective, cells) in enumerate(panels):
        _panel(out, LEFT + i * (PANEL_W + GAP + 4), collective, cells, table, names)
    y = TOP + PANEL_H + 42
    for i, (name, title) in enumerate(contestants):
        x = LEFT + (i % 3) * (PANEL_W + GAP)
        row = y + (i // 3) * 20
        dash = f' stroke-dasharray="{DASHES[name]}"' if name in DASHES else ""
        out.append(f'<line x1="{x}" x2="{x + 30}" y1="{row}" y2="{row}" stroke="{COLOURS.get(name, "#333")}"'
                   f' stroke-width="2.4"{dash}/>')
        out.append(_text(x + 37, row + 4, title, 12, "start"))
    height = y + 20 * ((len(contestants) + 2) // 3) + 4
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'<?xml version="1.0"?>\n<!-- SPDX-License-Identifier: BSD-3-Clause -->\n'
                   f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">\n'
                   f'<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(out) + "\n</svg>\n")
