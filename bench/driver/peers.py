#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures each setting of the MPI libraries of the distribution, libcoll with each kind of memory, and the hand-written
upper bounds, side by side in one run as compare.py does."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import checked
import record
import statistics_of_rounds as stats
from compare import add_sample_arguments, build_programs, samples
from contestants import AS_INSTALLED, LIMIT, TWO_COPIES, libcoll_on, peers
from report import distance_name, size_name, time_name

COLLECTIVES = ("bcast", "reduce", "allreduce", "scatter", "gather", "allgather", "alltoall", "reduce_scatter", "scan",
               "exscan")
BEST = "best baseline"
DIRECT_FROM = 16 << 10  # from this size on, buffers that peers can map should be near the upper bound
MEAN_FROM = 4 << 10     # geometric means are over sizes from here on
TINY = 256              # up to about this size a payload fits into a mailbox


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=checked.build_directory, help="build directory (where lib/mpi/libcoll_mpi_*.so are)")
    parser.add_argument("--under", choices=("openmpi", "mpich"), default="openmpi",
                        help="the MPI that libcoll is preloaded into")
    parser.add_argument("--ranks", type=checked.positive, default=2, help="oversubscribed if there are fewer cores")
    parser.add_argument("--rounds", type=checked.positive, default=5)
    parser.add_argument("--sizes", type=checked.sizes, default="4-16M")
    parser.add_argument("--collectives", default=",".join(COLLECTIVES))
    parser.add_argument("--cell-ms", type=float, default=30, help="time for one collective and size in one launch")
    parser.add_argument("--pages", choices=("4k", "2m"), default="4k")
    parser.add_argument("--only", help="comma-separated contestants (see the headings)")
    parser.add_argument("--timeout", type=float, default=240, help="seconds after which a launch is stopped")
    parser.add_argument("--urgent", action="store_true", help="as root: run all contestants at the highest priority")
    add_sample_arguments(parser)
    record.add_arguments(parser)
    parser.add_argument("--json", metavar="FILE", help="write every sample; collctl report --bench draws them")
    return parser.parse_args()


def with_best(table, rivals):
    """Returns the table with the fastest baseline of each cell, and its name."""
    named = {}
    for cell, times in table.items():
        found = {p: times[p] for p in rivals if p in times}
        if found:
            named[cell] = min(found, key=found.get)
            times[BEST] = found[named[cell]]
    return named


def print_table(table, named, others):
    print("Upper bound and fastest baseline in microseconds; then the time of each contestant divided by the bound.")
    for collective in COLLECTIVES:
        cells = [cell for cell in table if cell[0] == collective and LIMIT in table[cell]]
        if not cells:
            continue
        print(f"\n{collective:>14}  {'bound':>9}  {BEST:>9}  {'x bound':>9}  " + "  ".join(f"{n:>11}" for n in others) +
              "  fastest setting")
        for cell in cells:
            times, limit = table[cell], table[cell][LIMIT]
            best, *ratios = [f"{times[n] / limit:.2f}" if n in times else "-" for n in [BEST, *others]]
            print(f"{size_name(cell[1]):>14}  {time_name(limit):>9}  "
                  f"{time_name(times[BEST]) if BEST in times else '-':>9}  {best:>9}  " +
                  "  ".join(f"{r:>11}" for r in ratios) + f"  {named.get(cell, '-')}")


def reduces(collective, ranks):
    """Between two ranks an exscan only moves data: rank 1 receives the vector of rank 0."""
    return collective in ("reduce", "allreduce", "reduce_scatter", "scan") or (collective == "exscan" and ranks > 2)


def print_gains(name, both, rivals, title, ranks):
    """Speedup over the fastest of some rivals, for data movement and reductions separately."""
    gains = stats.ratios(both, name, rivals)
    if not gains:
        return
    large = {cell: gain for cell, gain in gains.items() if cell[1] >= MEAN_FROM} or gains
    means = [("", large.values())] + [(kind, [g for c, g in large.items() if reduces(c[0], ranks) == reducing])
                                      for kind, reducing in (("data movement ", False), ("reductions ", True))]
    whole, *parts = [f"{kind}{mean:.2f}" for kind, g in means if (mean := stats.geomean(g))]
    slower = [f"{c[0]} {size_name(c[1])} {g:.2f}" for c, g in gains.items() if g < 1]
    print(f"{name}: {whole} times as fast as {title} from {size_name(MEAN_FROM)} on ({', '.join(parts)}); "
          f"slower in {len(slower)} of {len(gains)} cells" + (": " + ", ".join(slower) if slower else ""))


def print_summary(table, ours, rivals, ranks):
    print()
    print_gains(LIMIT, {cell: times for cell, times in table.items() if LIMIT in times}, rivals, "the best baseline",
                ranks)
    for name in ours:
        both = {cell: times for cell, times in table.items() if name in times}
        over = {cell: t[name] / t[LIMIT] for cell, t in both.items() if LIMIT in t}
        large = {cell: ratio for cell, ratio in over.items() if cell[1] >= DIRECT_FROM}
        tiny = {cell: ratio for cell, ratio in over.items() if cell[1] <= TINY}
        staged = {cell: t[name] / t[TWO_COPIES] for cell, t in both.items()
                  if name == "coll" and TWO_COPIES in t and cell[1] >= MEAN_FROM}
        for found, where in ((large, f"from {size_name(DIRECT_FROM)} on"), (tiny, f"up to {size_name(TINY)}")):
            if found:
                worst = max(found, key=found.get)
                print(f"{name}: {where} {stats.geomean(found.values()):.2f} times the bound, "
                      f"at worst {found[worst]:.2f} ({worst[0]} of {size_name(worst[1])})")
        if staged:
            beyond = [f"{c[0]} {size_name(c[1])} {r:.2f}" for c, r in staged.items() if r > 1.05]
            print(f"{name}: from {size_name(MEAN_FROM)} on {stats.geomean(staged.values()):.2f} times the two-copy bound"
                  f"; above 1.05 in {len(beyond)} of {len(staged)} cells" +
                  (": " + ", ".join(beyond) if beyond else ""))
        print_gains(name, both, rivals, "the best baseline", ranks)
        print_gains(name, both, [r for r in rivals if r in AS_INSTALLED], "the best baseline as installed", ranks)


def print_bandwidth(table, notes, options, ours):
    """Prints the bandwidth of the largest allreduce (bytes of its plan over its time) and that of copies in the same run."""
    copied = [r for r in notes if r.get("copy_gbs")]
    cells = [cell for cell in table if cell[0] == "allreduce"]
    collctl = Path(options.build) / "tools" / "collctl"
    if not copied or not cells or not collctl.exists():
        return
    cell = cells[-1]
    speed = sorted(r["copy_gbs"] for r in copied)[len(copied) // 2]
    print(f"\nTraffic of an allreduce of {size_name(cell[1])}, by its plan's counters (loads and stores of all ranks), "
          f"over its time;\nall ranks copy {size_name(copied[0]['copy_bytes'])} each at once: {2 * speed:.1f} GB/s "
          "loaded and stored.")
    for name in (n for n in ours if n in table[cell]):
        transport = "shm" if name == "coll" else "mapped"
        command = [str(collctl), "plan", "allreduce", "-n", str(options.ranks), "--size", str(cell[1]), "--transport", transport,
                   "--json"]
        plan = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        moved = plan["dav_bytes"]["total"]
        reached = moved / table[cell][name] / 1e3
        print(f"  {name:>9}: {plan['algorithm']}, {plan['transport']}: {moved / 2**20:.0f} MiB, {reached:.1f} GB/s, "
              f"{reached / (2 * speed):.2f} of copying")


MEMORY = {"coll": "malloc", "coll-mpi": "MPI_Alloc_mem", "coll-heap": "malloc, COLL_HEAP=shared"}
COLUMNS = ["data movement", "reductions", "as installed", "slower", "time / bound"]


def new_record(table, ours, rivals, options, flag):
    """Returns a row for each kind of memory."""
    rows, slower = {}, []
    for name in ours:
        gains = stats.ratios(table, name, rivals)
        large = {cell: gain for cell, gain in gains.items() if cell[1] >= MEAN_FROM} or gains
        parts = [stats.geomean(g for c, g in large.items() if reduces(c[0], options.ranks) == reducing)
                 for reducing in (False, True)]
        installed = stats.ratios(table, name, [r for r in rivals if r in AS_INSTALLED])
        parts.append(stats.geomean(g for c, g in installed.items() if c[1] >= MEAN_FROM))
        behind = {cell: gain for cell, gain in gains.items() if gain < 1}
        bound = stats.geomean(t[name] / t[LIMIT] for c, t in table.items()
                              if c[1] >= DIRECT_FROM and {name, LIMIT} <= t.keys())
        rows[MEMORY[name]] = [*("-" if p is None else p for p in parts), f"{len(behind)} of {len(gains)}", bound or "-"]
        if behind:
            slower.append(f"Slower with {MEMORY[name]}: " +
                          ", ".join(f"{c[0]} of {size_name(c[1])} ({g:.2f})" for c, g in behind.items()) + ".")
    placed = record.placement(options.ranks, flag, stats.NEAR_NS)
    sizes = [size for _, size in table]
    return record.new(
        options.circumstances, "best-settings",
        f"{options.circumstances['machine']['name']}, {options.ranks} ranks, {placed}",
        "Time of the fastest baseline setting (Open MPI: as installed, without CMA, component sm; MPICH: with and "
        f"without CMA), divided by the time of libcoll; third column: the same with the libraries as installed; "
        "fourth: points (collective and size) at which libcoll is slower than the best setting; last: time of libcoll "
        f"divided by the hand-written upper bound, from {size_name(DIRECT_FROM)}",
        f"geometric mean over {size_name(max(min(sizes), MEAN_FROM))} to {size_name(max(sizes))} per rank", "ratio",
        COLUMNS, rows, ranks=options.ranks, rounds=options.rounds, placed=placed, flag_ns=flag, notes=slower)


def main():
    options = arguments()
    where = build_programs(options.build)
    program = lambda mpi: where / f"coll_bench.{mpi}"
    field = peers(options.ranks, program, options.urgent)
    field += libcoll_on(options.under, options.build, options.ranks, program, options.urgent)
    if options.only:
        field = [c for c in field if c.name in options.only.split(",")]
    rivals = [c.name for c in field if not c.ours and c.name not in (LIMIT, TWO_COPIES)]
    ours = [c.name for c in field if c.ours]
    complaints, notes = [], []
    rows = samples(field, options, lambda text: text in complaints or complaints.append(text), notes)
    kept, dropped = stats.drop_moved(rows, options.cores)
    table = stats.medians(kept)
    named = with_best(table, rivals)
    headline = (f"{options.ranks} ranks, {record.processor_name()}, flag {distance_name(stats.flag_ns(kept))}, pages of "
                f"{'4 KiB' if options.pages == '4k' else '2 MiB'}, {options.rounds} rounds")
    print(headline)
    for who in field:
        print(f"  {who.name:<14} {who.title}")
    print_table(table, named, [TWO_COPIES, *ours])
    print_summary(table, ours, rivals, options.ranks)
    print_bandwidth(table, notes, options, ours)
    print(f"\n{len(dropped)} of {len(rows)} samples dropped: the cores were at another distance.")
    for text in complaints:
        print("note: " + text)
    wrong = sorted({r["contestant"] for r in rows if r.get("wrong")})
    if wrong:
        print("WRONG RESULTS from " + ", ".join(wrong))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"headline": headline, "flag_ns": stats.flag_ns(kept),
                       "contestants": {**{c.name: c.title for c in field}, LIMIT: "by hand", TWO_COPIES: "by hand, two copies"},
                       "medians_us": [{"collective": c, "bytes": b, **t} for (c, b), t in table.items()],
                       "circumstances": options.circumstances, "samples": rows, "notes": complaints}, file, indent=1)
    if wrong or not rows:
        return 1
    if options.record:
        record.write(options.record, new_record(table, ours, rivals, options, stats.flag_ns(kept)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
