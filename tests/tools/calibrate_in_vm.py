# SPDX-License-Identifier: BSD-3-Clause
"""calibrate_in_vm.py KERNEL: collctl calibrate with the module, in a virtual machine: both mechanisms of kcoll are
measured and fitted; the module counts gate wait, lock, pin and copy separately, the same by tracepoints and by
counters; the library and collctl explain then choose by the written table; and an unprivileged user, who can read only
the counters, gets the same model. 77: this machine cannot run one."""
import json
import os
import re
import sys

from in_vm import machine, quietly

COLLECTIVES = ("bcast", "reduce", "allreduce", "scatter", "gather", "allgather", "alltoall", "reduce_scatter", "scan", "exscan")
SIZES = {"16K": 16 << 10, "1M": 1 << 20}
# Transports, and whether the kernel copies with them; a row of the table serves transports of its own kind.
TRANSPORTS = {"shm": False, "kcoll_copy": True}

# A line of JSON for each cell, after a keyword.
EXPLAIN = """explained() {
    for collective in %s; do
        for size in %s; do
            $COLLCTL explain $collective $size -n 2 --json > /tmp/cell || return
            echo "$1 $(tr -d '\\n' < /tmp/cell)"
        done
    done
}""" % (" ".join(COLLECTIVES), " ".join(SIZES))


# A user who may not read tracepoints, but may open the device and lock memory.
# Copies the tool, because other users may not be able to read the build directory.
UNPRIVILEGED = ("chmod 666 /dev/kcoll && mkdir -m 777 /tmp/nobody && cp $COLLCTL /tmp/nobody/ && ulimit -l unlimited && "
                "setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/tmp/nobody XDG_CONFIG_HOME=/tmp/nobody ")
# Values from times measured in user space, which need no privilege, and from the counts of the module.
BY_CLOCK = ("kcoll_pinned startup", "kcoll_pinned bandwidth")
BY_ACCOUNT = ("kcoll_first_touch startup", "kcoll_first_touch page")
# A page's cost may move by a factor of two between two calibrations of an emulated machine, by root and root, too. That
# tracepoints and counters agree on one and the same run within a hundredth is kcoll_times_test's to see.
ALLOWED = 0.5


def same_table_faults(result, other):
    """Checks that the table of the user `nobody` has all values of root's, and agrees where tracepoints could matter."""
    ours, theirs = ({of["name"]: of for of in each["parameters"]} for each in (result, other))
    for each, source in ((result, "tracepoints"), (other, "counters")):
        lacks = any("built without" in remark for remark in each["remarks"])
        if not lacks and not any(remark.startswith(f"kcoll by its {source}: ") for remark in each["remarks"]):
            yield f"the account is not by {source}: {each['remarks']}"
    yield from lacking(other)
    page = "kcoll_first_touch page"
    if page in ours and page in theirs:
        a, b = ours[page]["value"], theirs[page]["value"]
        apart, error = abs(a - b) / max(a, b), ours[page]["spread"] + theirs[page]["spread"]
        print(f"{page}: {a:.4g} us by root, {b:.4g} us by nobody; {apart:.3f} apart, the fits' error {error:.3f}")
        if apart > max(error, ALLOWED):
            yield f"{page} without privilege is {theirs[page]}, not {ours[page]}"


def lacking(result):
    values = {of["name"]: of for of in result["parameters"]}
    for name in BY_CLOCK + BY_ACCOUNT:
        if name not in values or values[name]["value"] <= 0 or values[name]["points"] == 0:
            yield f"{name}: {values.get(name)}; {result['remarks']}"


def account_faults(result):
    yield from lacking(result)
    account = " ".join(remark for remark in result["remarks"] if remark.startswith("kcoll by its "))
    print(account)
    for words in ("kcoll by its", "gate wait", "lock", "pin", "copy of"):
        if words not in account:
            yield f"'{words}' is not in the module's own account: {result['remarks']}"


def cells(lines, word):
    """Returns the selection by collective and size, from lines that begin with the keyword."""
    read = [json.loads(line.removeprefix(word + " ")) for line in lines if line.startswith(word + " ")]
    return {(of["collective"], of["bytes"]): of["selected"] for of in read}


def is_of(row, text):
    """Whether "fused:chunk=4096,depth=2" is what the row says; a setting names what its algorithm reads."""
    algorithm, _, parameters = text.partition(":")
    named = dict(item.split("=") for item in parameters.split(",") if item)
    return algorithm == row["algorithm"] and all(
        int(named[name]) == value for name, value in row["parameters"].items() if name in named)


def choice_faults(lines, table):
    before, after = cells(lines, "before"), cells(lines, "after")
    said = {(of[1], of[2], int(of[3])): of for of in (re.fullmatch(
        r"(\w+) libcoll: (\w+) of (\d+) bytes on 2 ranks: (\S+?)(?: with kernel-assisted copies|, staged)? \((.*)\)", line) for line in lines) if of}
    rows = {(of["collective"], of["up_to_bytes"]): of for of in table["choices"] if of["ranks"] == 2}
    changed = 0
    for cell in ((collective, size) for collective in COLLECTIVES for size in SIZES.values()):
        row, selected = rows[cell], after[cell]
        by = f"table row {cell[0]} up to "
        changed += any(before[cell][what] != selected[what] for what in ("setting", "kernel_assisted", "latency_path"))
        if before[cell]["decided_by"].startswith("table row"):
            yield f"{cell} is of a table before there is one: {before[cell]}"
        latency = row["algorithm"] == "latency"  # which the log of the library does not contain
        if selected["latency_path"] != latency or not latency and (
                not selected["decided_by"].startswith(by) or not is_of(row, selected["setting"])
                or selected["kernel_assisted"] != row["kernel_copies"]):
            yield f"{cell} explained is {selected}, but the table has {row}"
        for transport, copies in TRANSPORTS.items():
            of = said.get((transport, *cell))
            if latency:
                right = of is None
            elif row["kernel_copies"] != copies:
                right = of is not None and of[5].startswith(("built-in rule", "prices of the table"))
            else:
                right = of is not None and of[5].startswith(by) and is_of(row, of[4])
            if not right:
                yield f"{cell} in the library is '{of and of[0]}', but the table has {row}"
    print(f"{changed} of {len(after)} choices are others than without a table")
    if changed == 0:
        yield "no choice differs from the built-in ones"


def main():
    lines = machine(
        sys.argv[1], EXPLAIN, "export XDG_CONFIG_HOME=/tmp/config",
        quietly(f"{os.environ['KCOLL_TIMES']} --gtest_brief=1 > /tmp/times || {{ cat /tmp/times; false; }}"),
        "{ ! grep -qi skipped /tmp/times || grep -q 'built without' /tmp/times; }",
        quietly("explained before"),
        # Like a user: writes the table to the place where the library looks for it.
        quietly("$COLLCTL calibrate --quick --ranks 2 --json > /tmp/result"),
        "echo \"result $(tr -d '\\n' < /tmp/result)\"",
        "echo \"table $(cat /tmp/config/libcoll/tables/*.json | tr -d '\\n')\"",
        quietly("explained after"),
        *(f"{{ COLL_LOG=debug $COLLCTL bench all -n 2 --transport {transport} --sizes {','.join(SIZES)} --time 0.001"
          f" > /tmp/bench 2> /tmp/said; status=$?; sed 's/^/{transport} /' /tmp/said; [ $status = 0 ]; }}" for transport in TRANSPORTS),
        quietly(f"{UNPRIVILEGED} /tmp/nobody/collctl calibrate --quick --ranks 1 --json > /tmp/nobody/result"),
        "echo \"other $(tr -d '\\n' < /tmp/nobody/result)\"",
        limit=1500).splitlines()
    said = {word: json.loads(text) for word, text in (line.split(" ", 1) for line in lines if re.match("(result|table|other) ", line))}
    faults = [*account_faults(said["result"]), *choice_faults(lines, said["table"]), *same_table_faults(said["result"], said["other"])]
    sys.exit("\n".join(faults) if faults else 0)


main()
