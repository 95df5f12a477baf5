# SPDX-License-Identifier: BSD-3-Clause
"""Time of each contestant divided by the upper bound, by size, one frame per collective, as SVG."""

from plot import PANEL_W, Panel, STYLES, _stroke, _text

LEFT, GAP, TOP, HEIGHT, BETWEEN = 60, 56, 84, 210, 62
COLUMNS = 3
TICKS = (0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16)
STYLES.update({"best baseline": ("#e08214", ""), "coll-mpi": ("#2166ac", "6 3"), "coll-heap": ("#762a83", "2 2"),
               "limit-2copy": ("#666", "4 3")})


def _frame(x, y, cells, table, limit, names, low, high):
    panel = Panel(x, y, HEIGHT, [c[1] for c in cells], low, high)
    for tick in TICKS:
        if panel.low <= tick <= high:
            panel.tick(tick, f"{tick:g}", "#333" if tick == 1 else "#ddd")
    for name in names:
        panel.line(name, [(c[1], table[c][name] / table[c][limit]) for c in cells if name in table[c]])
    return panel.svg()


def write_svg(path, table, limit, titles, headline):
    """`titles`: {contestant: for the legend}, of those that are drawn; cells without the limit are left out."""
    collectives = list(dict.fromkeys(c[0] for c in table if limit in table[c]))
    width = LEFT + COLUMNS * PANEL_W + (COLUMNS - 1) * GAP + 16
    out = [_text(width / 2, 22, "Time divided by the hand-written upper bound", 15, more='font-weight="bold"'),
           _text(width / 2, 42, headline, 12)]
    ratios = [table[c][n] / table[c][limit] for c in table for n in titles if limit in table[c] and n in table[c]]
    low, high = max(0.3, min([0.9, *ratios]) / 1.05), min(16, max([2, *ratios]) * 1.05)
    for i, (name, title) in enumerate(titles.items()):
        x = LEFT + i * (width - LEFT) / len(titles)
        out.append(f'<path d="M{x:.0f} 62h30" {_stroke(name)}/>')
        out.append(_text(x + 36, 66, title, anchor="start"))
    for i, collective in enumerate(collectives):
        x, y = LEFT + i % COLUMNS * (PANEL_W + GAP), TOP + 24 + i // COLUMNS * (HEIGHT + BETWEEN)
        cells = [c for c in table if c[0] == collective and limit in table[c]]
        out.append(_text(x + PANEL_W / 2, y - 8, collective, 13, more='font-weight="bold"'))
        out += _frame(x, y, cells, table, limit, titles, low, high)
    height = TOP + 24 + -(-len(collectives) // COLUMNS) * (HEIGHT + BETWEEN) - 24
    with open(path, "w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n<!-- SPDX-License-Identifier: BSD-3-Clause -->\n'
                   f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                   f'width="{width}" height="{height}">\n<rect width="100%" height="100%" fill="white"/>\n' +
                   "\n".join(out) + "\n</svg>\n")
