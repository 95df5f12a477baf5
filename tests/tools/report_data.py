# SPDX-License-Identifier: BSD-3-Clause
"""Recorded data for the tests of `collctl report`: made by rule, so that every number that a page shows is known."""
import json
import math
import random

# The job of many ranks: rank LATE works longer before each allreduce, so that the others wait for it there.
LATE = 37
CALLS = (("allreduce", 65536, "rabenseifner", "shm", 2000, 60e-6), ("allreduce", 65536, "fused", "shm", 64, 55e-6),
         ("allreduce", 64, "latency", "shm", 40000, 6e-6), ("bcast", 262144, "hierarchical", "shm", 500, 210e-6),
         ("reduce_scatter", 2097152, "ring (request)", "shm", 120, 900e-6), ("barrier", 8, "dissemination", "shm", 300, 9e-6))
# Name, calls that are served and their seconds, forwarded calls. Requests are 108 ms in flight, 27 ms of them in these.
FUNCTIONS = (("MPI_Allreduce", 42064, 0.3635, 12), ("MPI_Bcast", 500, 0.105, 0), ("MPI_Ireduce_scatter", 120, 0.0027, 0),
             ("MPI_Waitall", 120, 0.0243, 0), ("MPI_Barrier", 300, 0.0027, 0))
SIZES = {65536: 65536, 64: 16, 262144: 131072, 2097152: 1048576, 8: 0}


def statistics(rank, ranks):
    """Statistics in the format of COLL_STATS: class sizes are 8, 64, 512, 4K, 32K, 256K, 2M ..."""
    chance = random.Random(rank)
    calls = []
    for collective, size, algorithm, transport, number, seconds in CALLS:
        late = collective == "allreduce" and size == 65536 and rank == LATE and ranks > LATE
        each = seconds * (0.3 if late else 1) * chance.uniform(0.97, 1.03)
        limit = 8
        while limit < size:
            limit *= 8
        calls.append({"collective": collective, "up_to_bytes": limit, "calls": number, "bytes": number * SIZES[size],
                      "seconds": number * each, "algorithm": algorithm, "transport": transport})
    forwarded = [{"collective": "allreduce", "up_to_bytes": 64, "why": "an operation of the user", "calls": 12, "share": 0.0003}]
    functions = [{"function": name, "served": served, "served_seconds": seconds, "forwarded": passed,
                  "forwarded_seconds": passed * 30e-6, "one_rank": 0, "one_rank_seconds": 0}
                 for name, served, seconds, passed in FUNCTIONS]
    return {"rank": rank, "run_seconds": 2.5, "calls": calls, "forwarded": forwarded, "functions": functions}


def write_job(folder, ranks):
    files = []
    for rank in range(ranks):
        files.append(folder / f"stats.{rank}.json")
        files[-1].write_text(json.dumps(statistics(rank, ranks)))
    return files


def matrix(places):
    """Flag latencies of cores: by what they share, with a slow pair; places as in the report's JSON."""
    ns = []
    for i, a in enumerate(places):
        for b in places[i + 1:]:
            base = 620 if a[0] != b[0] else 260 if a[1] != b[1] else 90
            ns.append(round(base * (1 + 0.05 * math.sin(7 * a[4] + 3 * b[4])), 1))
    return ns


def add_matrix(report):
    """The result of --measure on the machine of the report: one processing unit per core; the pair 3, 141 is slow, 5, 6 fast."""
    seen, cores = set(), []
    for place in report["machine"]["places"]:
        if place[4] not in seen:
            seen.add(place[4])
            cores.append(place)
    ns, n = matrix(cores), len(cores)
    at = lambda i, j: i * n - i * (i + 1) // 2 + j - i - 1
    if n > 141:
        ns[at(3, 141)], ns[at(5, 6)], ns[at(0, 9)] = 911.5, 33.2, None
    report["machine"]["measured"] = {"cpus": [place[5] for place in cores], "flag_ns": ns, "pairs": len(ns),
                                     "measured": sum(value is not None for value in ns), "seconds": 11.3}


def benchmark():
    """Samples in the format of `make bench --json`: libcoll is 1.5 times as fast as the fastest baseline, at 64 KiB half as fast."""
    samples = []
    for collective in ("bcast", "allreduce", "alltoall"):
        for power in range(2, 23, 2):
            size = 2 ** power
            for round_ in range(8):
                for who, factor in (("openmpi", 1.8), ("mpich", 1.5), ("coll+openmpi", 2.0 if size == 65536 else 1.0)):
                    us = (0.4 + size / 9000) * factor * (1 + 0.01 * round_)
                    samples.append({"collective": collective, "bytes": size, "median_us": us, "contestant": who,
                                    "round": round_, "ranks": 2, "flag_ns_before": 47, "flag_ns_after": 400 if round_ == 7 else 47})
    titles = {"openmpi": "Open MPI 4.1", "mpich": "MPICH 4.0", "coll+openmpi": "libcoll under Open MPI"}
    return {"headline": "2 ranks, flag 47 ns, 8 rounds", "flag_ns": 47, "contestants": titles, "samples": samples}


def learned():
    """A file in the format of auto-tuning."""
    return ("# libcoll auto-tuning 1: AMD EPYC 7763 64-Core Processor\n"
            "allreduce[p=2, levels=1, !oversubscribed, element!=2, n>=65536, n<131072]: fused:chunk=16384,copy=staged -- 9.1 us, books 11 us\n"
            "bcast[p=2, levels=1, oversubscribed, n>=4096, n<8192]: latency -- 3 us, books 0 us\n")
