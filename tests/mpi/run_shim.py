#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs an MPI program with a shim preloaded into its ranks.

run    the program prints "passed", and the shim intercepted its calls
diff   the program prints the same with and without the shim
dies   a rank ends: the launcher returns the same status with and without the shim
survive  the last rank ends: each of the others prints "passed"
aborts the program ends with a message of the shim (--says), and names no call that it did not make
overdue  one rank, --without, has no shim on a node of its own: the others wait, and the log says for what
lacks  one rank, --without (the first or the last), has no shim: all name it, and the program passes on MPI alone
containers  two jobs at once, each in a container with the machine's network, pass, and both are served
between  another tool stands before the shim and one behind it: the first sees all calls, the second the forwarded ones
statistics  COLL_STATS counts all calls, intercepted and forwarded
waits  COLL_STATS counts all waits for collectives, as many as the program prints
mapped COLL_STATS reports that collectives used mapped memory
failed the last rank cannot make a libcoll communicator: the program passes on MPI alone
forwarded  no call is intercepted, and the log gives the reason --says
off    COLL_MPI=off: the program passes on MPI alone
programs  a list of programs in the configuration file names it, or leaves it alone
whole  the shim is preloaded into the launcher as well, and into a shell
alone  the program, which is no MPI job, prints "passed"
wrong  the program belongs to the other MPI library: a message reports that
imported  the same of a library that a scripting language loads out of the global scope
"""
import argparse
import concurrent.futures
import contextlib
import copy
import json
import os
import pathlib
import random
import re
import shlex
import sys
import tempfile

sys.dont_write_bytecode = True
import mpirun
import namespaces


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["run", "diff", "dies", "survive", "aborts", "lacks", "overdue", "containers", "between", "statistics", "waits", "mapped", "failed",
                                         "forwarded", "off", "programs", "whole", "alone", "wrong", "imported"])
    parser.add_argument("--mpi", required=True, choices=["openmpi", "mpich"], help="whose launcher starts the program")
    parser.add_argument("--launcher", required=True)
    parser.add_argument("--shim", required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=100)
    parser.add_argument("--takes", default="", help="collectives of which every rank's shim must have taken some")
    parser.add_argument("--stages-in-place", default="", help="of those, what copies what it overwrites (mode mapped)")
    parser.add_argument("--takes-all", action="store_true", help="and none of them may have been forwarded")
    parser.add_argument("--says", help="what the log must say")
    parser.add_argument("--before", help="a library that is preloaded before the shim")
    parser.add_argument("--behind", help="one that is preloaded behind it")
    parser.add_argument("--setting", action="append", default=[], help="NAME=value for the ranks")
    parser.add_argument("--abi", help="the program is of MPI's standard ABI, and its libmpi_abi.so.1 lies here")
    parser.add_argument("--launch-option", action="append", default=[])
    parser.add_argument("--needs", metavar="FILE", help="the test is skipped where this file of a device is missing")
    parser.add_argument("--nodes", help="ranks of each node, as in 3,2: nodes in namespaces, joined by TCP (openmpi)")
    parser.add_argument("--argument", action="append", default=[], help="for the program")
    parser.add_argument("--last", default="COLL_TRANSPORT=pigeon", help="NAME=value for the last rank (mode failed)")
    parser.add_argument("--without", choices=["first", "last"], help="the rank without the shim (modes lacks, overdue)")
    parser.add_argument("program")
    options = parser.parse_args()
    options.start = list  # starts the launcher, given its command
    if options.nodes:
        options.ranks = sum(map(int, options.nodes.split(",")))
    return options


@contextlib.contextmanager
def on_nodes(options):
    """Creates the nodes of --nodes while the program runs."""
    if not options.nodes:
        yield
        return
    with namespaces.open_mpi(list(map(int, options.nodes.split(",")))) as start:
        options.start = start
        yield


def preload(*libraries):
    """A sanitizer's runtime comes first: the program itself was not built with it."""
    return " ".join(filter(None, [os.environ.get("COLL_SANITIZER_RUNTIME"), *libraries]))


def launch(options, settings, environment=None, last=None, lacks=None):
    """`last`: settings that only the last rank has; `lacks`: the first or the last rank has none. Each rank writes its
    standard error into a file of its own, because the launchers merge the ranks' streams in the middle of lines."""
    with tempfile.TemporaryDirectory() as directory:
        result = mpirun.run(command_of(options, settings, last, lacks, directory), options.timeout, **(environment or {}))
        logs = [pathlib.Path(directory, name).read_text(errors="replace") for name in sorted(os.listdir(directory))]
    return result[0], result[1], result[2] + "".join(logs)


def command_of(options, settings, last, lacks, directory):
    """Returns the command that launch() runs."""
    to_file = ["/bin/sh", "-c", f'exec "$0" "$@" 2>>{shlex.quote(directory)}/$$']

    def part(ranks, variables, start=()):
        return mpirun.group(options.mpi, ranks, variables, [*to_file, *start, options.program, *options.argument])

    if lacks:
        # Open MPI 6.0's launcher gives the variables of one group of ranks to the following ones as well.
        parts = [part(options.ranks - 1, settings), part(1, {}, ["/usr/bin/env", "-u", "LD_PRELOAD"])]
        parts = parts[::-1] if lacks == "first" else parts
    elif last:
        parts = [part(options.ranks - 1, settings), part(1, {**settings, **last})]
    else:
        parts = [part(options.ranks, settings)]
    return mpirun.command(options.mpi, *parts, options=options.launch_option, launcher=options.launcher,
                          start=options.start)


def fail(why, result):
    status, out, err = result
    print(f"{why}\nexit status {'none: out of time' if status is None else status}\n"
          f"--- standard output\n{out}--- standard error\n{err}")
    sys.exit(1)


def check_passed(result):
    if result[0] != 0 or "passed" not in result[1].splitlines():
        if result[0] == 0 and result[1].startswith("skipped:"):
            print(result[1])
            sys.exit(77)
        fail("the program did not pass", result)


def tallies(err):
    """Returns the counts of each rank's shim at the end: {(rank, collective): (intercepted, forwarded)}."""
    found = re.findall(r"rank (\d+): (\w+): (\d+) intercepted, (\d+) forwarded", err)
    return {(int(rank), collective): (int(taken), int(passed)) for rank, collective, taken, passed in found}


def check_taken(options, result):
    seen = tallies(result[2])
    for collective in filter(None, options.takes.split(",")):
        for rank in range(options.ranks):
            taken, passed = seen.get((rank, collective), (0, 0))
            if taken == 0 or (options.takes_all and passed > 0):
                fail(f"rank {rank}: the shim intercepted {taken} {collective}, and forwarded {passed}", result)


def check_says(options, result):
    if options.says and options.says not in result[2]:
        fail(f"the log does not say '{options.says}'", result)


def check_names_no_other_call(result):
    """The program calls neither of these."""
    for name in ("MPI_Comm_call_errhandler", "MPI_Abort", "MPI_ABORT"):
        if name in result[1] + result[2]:
            fail(f"the output names {name}, which the program did not call", result)


def check_dies(options, settings):
    with_shim, without = launch(options, settings), launch(options, {})
    if with_shim[0] != without[0]:
        # MPICH's launcher sometimes (one of 40 runs without the shim) returns the status of a rank that it has ended.
        with_shim, without = twice_alike(options, settings), twice_alike(options, {})
    if without[0] in (0, None) or with_shim[0] != without[0]:
        fail(f"exit status {without[0]} without the shim, another one with it", with_shim)
    check_names_no_other_call(with_shim)


def check_survive(options, result):
    """The exit status says nothing: MPICH's launcher returns 1 for a rank that ends with 0 and without MPI_Finalize if it
    learns this before it sees the end of the rank's PMI connection. It may put the line of one rank into another's."""
    if result[0] is None or result[1].count("passed") != options.ranks - 1:
        fail("not all other ranks passed", result)
    check_names_no_other_call(result)


def check_containers(options, settings):
    """Several times, since the two may start one after the other."""
    for _ in range(4):
        with contextlib.ExitStack() as stack, concurrent.futures.ThreadPoolExecutor() as threads:
            jobs = []
            for _ in range(2):
                job = copy.copy(options)
                job.start = namespaces.in_container(stack.enter_context(tempfile.TemporaryDirectory()))
                jobs.append(threads.submit(launch, job, settings))
            for job in jobs:
                check_passed(job.result())
                check_taken(options, job.result())


def twice_alike(options, settings):
    """The second of two runs in a row with the same exit status; the last of ten if there are none."""
    last = launch(options, settings)
    for _ in range(9):
        before, last = last, launch(options, settings)
        if before[0] == last[0]:
            break
    return last


def check_between(options, result):
    """Compares the counts of the two tools with those of the shim."""
    seen = tallies(result[2])
    for rank in range(options.ranks):
        for collective in options.takes.split(","):
            taken, passed = seen[rank, collective]
            for tool, expected in (("before", taken + passed), ("behind", passed)):
                counted = re.search(rf"{tool}: rank {rank}: {collective}: (\d+)", result[2])
                if counted is None or int(counted[1]) != expected:
                    fail(f"rank {rank}: the tool {tool} the shim should have counted {expected} {collective}", result)
        if not any(seen[rank, collective][1] for collective in options.takes.split(",")):
            fail("no call was forwarded: the test proves nothing", result)


def check_statistics(result, report):
    """Rank 0 counted each intercepted collective, and gives a reason for each forwarded call."""
    for collective in ("barrier", "bcast", "reduce", "allreduce"):
        taken, passed = tallies(result[2])[0, collective]
        for key, expected in (("calls", taken), ("forwarded", passed)):
            counted = sum(row["calls"] for row in report[key] if row["collective"] == collective)
            if counted != expected:
                fail(f"{collective}: {counted} {key} in the statistics, not {expected}", result)
    for row in report["forwarded"]:
        of_size = [other for key in ("calls", "forwarded") for other in report[key]
                   if other["collective"] == row["collective"] and other["up_to_bytes"] == row["up_to_bytes"]]
        if abs(row["share"] - row["calls"] / sum(other["calls"] for other in of_size)) > 1e-5:
            fail(f"{row} is not that share of the calls of its size", result)
    if {"one rank", "inter-communicator"} - {row["why"] for row in report["forwarded"]}:
        fail("a reason is missing", result)
    check_functions(report, result)


def check_functions(report, result):
    """Time by function: the sums agree, and the ranks were compared."""
    functions = {row["function"]: row for row in report["functions"]}
    if not report["complete"] or functions["MPI_Bcast"]["served_seconds"] <= 0:
        fail("no time of MPI_Bcast", result)
    for row in report["forwarded"]:
        if row["function"] not in functions or row["seconds"] <= 0:
            fail(f"{row} has no function or no time", result)
    total = report["total"]
    for part in ("served", "forwarded", "one_rank"):
        if total[part] != sum(row[part] for row in functions.values()):
            fail(f"the total of {part} is wrong", result)
    if not 0 < total["share_of_run"] <= 1 or total["one_rank"] == 0:
        fail("the total is wrong", result)
    ranks = report["all_ranks"]
    for key in ("seconds", "forwarded_seconds", "run_seconds"):
        if not 0 < ranks[key]["min"] <= ranks[key]["mean"] * 1.000001 <= ranks[key]["max"] * 1.000002:
            fail(f"the comparison of {key} is wrong", result)


def launch_for_report(options, settings):
    """Returns the result, and what rank 0 has written for COLL_STATS: to a file, since lines of other ranks may come in between."""
    with tempfile.TemporaryDirectory() as directory:
        file = os.path.join(directory, "statistics")
        result = launch(options, {**settings, "COLL_STATS": file})
        check_passed(result)
        with open(file, encoding="utf-8") as written:
            return result, json.load(written)


def check_waits(options, result, report):
    """As many as the program prints, if it does; otherwise there are some, and all are served."""
    parts = ("served", "forwarded", "one_rank")
    counted = {row["function"]: row for row in report["functions"] if re.match("MPI_(Wait|Test)", row["function"])}
    if not counted or any(row[f"{part}_seconds"] <= 0 for row in counted.values() for part in parts if row[part] > 0):
        fail("no time of waits", result)
    for line in re.findall(r"^waits: (\w+) (\d+) (\d+)$", result[1], re.MULTILINE):
        found = counted.pop(line[0], dict.fromkeys(parts, 0))
        if [found[part] for part in parts] != [*map(int, line[1:]), 0]:
            fail(f"{line[0]}: {found} is not {line[1:]}", result)
    for function in filter(None, options.takes.split(",")):
        if counted.pop(function, {"served": 0})["served"] == 0:
            fail(f"no {function} was counted", result)
    if counted:
        fail(f"{sorted(counted)} were counted", result)


def check_programs(options, settings):
    """The name stands first of two patterns in the file; a name that the program does not have leaves it alone."""
    name = os.path.basename(options.program)
    with tempfile.TemporaryDirectory() as directory:
        file = os.path.join(directory, "config")
        for listed, taken in ((f"{name[:-1]}?, !*", True), (f"!{os.path.dirname(options.program)}/*, *", False),
                              ("another_program", False)):
            with open(file, "w", encoding="utf-8") as config:
                config.write(f"COLL_PROGRAMS = {listed}\n")
            result = launch(options, {**settings, "COLL_CONFIG": file})
            check_passed(result)
            if taken:
                check_taken(options, result)
            else:
                check_none_taken(result)
                if result[2].count("COLL_PROGRAMS leaves this program alone: all collectives are forwarded") != 1:
                    fail(f"with '{listed}' rank 0 does not say so", result)


def check_mapped(options, result, report):
    """Of rank 0's calls of more than 32 KiB: no plan of those collectives may have copied through shared slots alone,
    but where --stages-in-place says so, and there one must have."""
    large = [row for row in report["calls"] if row["up_to_bytes"] is None or row["up_to_bytes"] > 32768]
    for collective in options.takes.split(","):
        transports = {row["transport"] for row in large if row["collective"] == collective}
        if transports != ({"mapped", "shm"} if collective in options.stages_in_place.split(",") else {"mapped"}):
            fail(f"large calls of {collective} used {sorted(transports)}", result)


def check_none_taken(result):
    if any(taken for taken, _ in tallies(result[2]).values()):
        fail("the shim took calls", result)


def main():
    options = arguments()
    if options.needs and not os.path.exists(options.needs):
        print(f"skipped: this machine has no {options.needs}")
        sys.exit(77)
    try:
        with on_nodes(options):
            check_result(options)
    except namespaces.Unavailable as reason:
        print(f"skipped: {reason}")
        sys.exit(77)


def check_result(options):
    # Leaks of MPI's plug-ins cannot be suppressed by name once these are unloaded; communicators.c looks for leaks of
    # the shim.
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    if options.abi:
        os.environ["LD_LIBRARY_PATH"] = ":".join(filter(None, [options.abi, os.environ.get("LD_LIBRARY_PATH")]))
    # All ranks draw the same numbers.
    seed = os.environ.get("COLL_TEST_SEED") or str(random.getrandbits(31))
    print(f"COLL_TEST_SEED={seed}")
    settings = {"LD_PRELOAD": preload(options.before, options.shim, options.behind), "COLL_LOG": "debug", "COLL_TEST_SEED": seed,
                **dict(setting.split("=", 1) for setting in options.setting)}
    if options.mode == "run":
        result = launch(options, settings)
        check_passed(result)
        check_taken(options, result)
        check_says(options, result)
    elif options.mode == "diff":
        with_shim, without = launch(options, settings), launch(options, {})
        check_passed(without)
        check_passed(with_shim)
        check_taken(options, with_shim)
        if with_shim[1] != without[1]:
            fail(f"without the shim the program prints\n{without[1]}\nwith it", with_shim)
    elif options.mode == "dies":
        check_dies(options, settings)
    elif options.mode == "survive":
        check_survive(options, launch(options, settings))
    elif options.mode == "lacks":
        result = launch(options, settings, lacks=options.without)
        check_passed(result)
        check_none_taken(result)
        named = f"the process with local rank {0 if options.without == 'first' else options.ranks - 1} "
        if result[2].count(named) != options.ranks - 1:
            fail("not all ranks name the one without the shim", result)
    elif options.mode == "containers":
        check_containers(options, settings)
    elif options.mode == "overdue":
        result = launch(options, settings, lacks=options.without)
        check_says(options, result)
    elif options.mode == "aborts":
        result = launch(options, settings)
        if result[0] in (0, None):
            fail("the program did not end with an error", result)
        check_says(options, result)
        check_names_no_other_call(result)
    elif options.mode == "between":
        result = launch(options, settings)
        check_passed(result)
        check_taken(options, result)
        check_between(options, result)
    elif options.mode == "statistics":
        check_statistics(*launch_for_report(options, settings))
    elif options.mode == "waits":
        check_waits(options, *launch_for_report(options, settings))
    elif options.mode == "mapped":
        check_mapped(options, *launch_for_report(options, settings))
    elif options.mode == "failed":
        result = launch(options, settings, last=dict([options.last.split("=", 1)]))
        check_passed(result)
        check_none_taken(result)
        check_says(options, result)
        if "are forwarded to MPI" not in result[2]:
            fail("no reason was given", result)
    elif options.mode == "forwarded":
        result = launch(options, settings)
        check_passed(result)
        check_none_taken(result)
        check_says(options, result)
    elif options.mode == "off":
        result = launch(options, {**settings, "COLL_MPI": "off"})
        check_passed(result)
        check_none_taken(result)
    elif options.mode == "programs":
        check_programs(options, settings)
    elif options.mode == "whole":
        environment = settings
        shell = mpirun.run(["/bin/sh", "-c", "echo one | cat; exit 3"], options.timeout, **environment)
        if shell != (3, "one\n", ""):
            fail("a shell behaves differently", shell)
        result = launch(options, {}, environment)
        check_passed(result)
        check_taken(options, result)
    elif options.mode == "alone":
        result = mpirun.run([options.program], options.timeout, LD_PRELOAD=preload(options.shim))
        check_passed(result)
        if options.says and options.says not in result[2]:
            fail(f"no '{options.says}'", result)
    else:
        if options.mode == "imported":
            library = {"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12"}[options.mpi]
            library = "libmpi_abi.so.1" if options.abi else library
            words = f"import ctypes; ctypes.CDLL('{library}', 0); ctypes.CDLL(None).MPI_Barrier(0)"
            result = mpirun.run([sys.executable, "-c", words], options.timeout, LD_PRELOAD=preload(options.shim))
        else:
            result = launch(options, settings)
        if result[0] == 0 or (options.says or "preload libcoll_mpi_") not in result[2]:
            fail("no message about the wrong shim", result)


if __name__ == "__main__":
    main()
