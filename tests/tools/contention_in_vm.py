# SPDX-License-Identifier: BSD-3-Clause
"""contention_in_vm.py KERNEL: collctl bench contention where the module is, in a virtual machine: every transport works,
what arrives is right, and the counts are what each mechanism stands for. The gate lets one task at a time pin here:
the others wait at it, and nobody does without it. 77: this machine cannot run one."""
import json
import sys

from in_vm import machine, quietly

PARAMETERS = "/sys/module/kcoll/parameters"
PINNED_AT_ONCE = 16  # pages, by a copy that finds none pinned


def fault_of(row):
    """Locks, waits at the gate and pins per access that a mechanism must, or must not, cause."""
    way, pages = row["transport"], row["pages"]
    if way == "cma":
        right = row["locks"] >= 1 and row["pages_pinned"] == pages
    elif way in ("kcoll_uncached", "kcoll_ungated"):
        # Page faults on the reader's own memory may add one now and then.
        least = -(-pages // PINNED_AT_ONCE)
        right = least <= row["locks"] < least + 0.1 and row["pages_pinned"] == pages
    else:
        # An access now and then may be interrupted by something that takes its own lock.
        right = row["locks"] < 0.1 and row["pages_pinned"] == 0
    if way != "kcoll_uncached" or row["concurrent"] == 1 or row["pattern"] == "all_to_all":
        right = right and row["gate_waits"] == 0
    return "" if right else str(row)


def main():
    told = json.loads(machine(
        sys.argv[1], f"echo 2 > {PARAMETERS}/pin_mode", f"echo 1 > {PARAMETERS}/gate_limit",
        quietly("$COLLCTL bench contention -n 2 --pages 1,64 --time 0.002 --json")))
    faults = [f"{name}: {state['problem']}" for name, state in told["transports"].items() if not state["works"]]
    if not told["counts"]["works"]:
        faults.append("counts: " + told["counts"]["problem"])
    else:
        faults += [fault for fault in map(fault_of, told["rows"]) if fault]
        if not any(row["gate_waits"] for row in told["rows"]):
            faults.append("no access waited at the gate")
    if len(told["rows"]) != 6 * 4 * 2 * 2 or told["wrong"] != 0:
        faults.append(f"{len(told['rows'])} rows, {told['wrong']} wrong bytes")
    sys.exit("\n".join(faults) if faults else 0)


main()
