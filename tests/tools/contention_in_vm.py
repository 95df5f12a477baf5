# SPDX-License-Identifier: BSD-3-Clause
"""contention_in_vm.py KERNEL: collctl bench contention with the module, in a virtual machine: every transport works, data
is right, and the counts match each mechanism. The gate lets one task at a time pin here: the others wait at it, and no
task waits without it. 77: this machine cannot run one."""
import json
import sys

from in_vm import machine, quietly

PARAMETERS = "/sys/module/kcoll/parameters"
PINNED_AT_ONCE = 16  # pages of a copy that finds none pinned


def fault_of(row):
    """Locks, waits at the gate and pins per access that a mechanism must, or must not, cause."""
    transport, pages = row["transport"], row["pages"]
    if transport == "cma":
        right = row["locks"] >= 1 and row["pages_pinned"] == pages
    elif transport in ("kcoll_uncached", "kcoll_ungated"):
        # Page faults on the reader's own memory may add one in some accesses.
        least = -(-pages // PINNED_AT_ONCE)
        right = least <= row["locks"] < least + 0.1 and row["pages_pinned"] == pages
    else:
        # Some accesses may be interrupted by code that takes a lock of its own.
        right = row["locks"] < 0.1 and row["pages_pinned"] == 0
    if transport != "kcoll_uncached" or row["concurrent"] == 1 or row["pattern"] == "all_to_all":
        right = right and row["gate_waits"] == 0
    return "" if right else str(row)


def main():
    result = json.loads(machine(
        sys.argv[1], f"echo 2 > {PARAMETERS}/pin_mode", f"echo 1 > {PARAMETERS}/gate_limit",
        quietly("$COLLCTL bench contention -n 2 --pages 1,64 --time 0.002 --json")))
    faults = [f"{name}: {state['problem']}" for name, state in result["transports"].items() if not state["works"]]
    if not result["counts"]["works"]:
        faults.append("counts: " + result["counts"]["problem"])
    else:
        faults += [fault for fault in map(fault_of, result["rows"]) if fault]
        if not any(row["gate_waits"] for row in result["rows"]):
            faults.append("no access waited at the gate")
    if len(result["rows"]) != 6 * 4 * 2 * 2 or result["wrong"] != 0:
        faults.append(f"{len(result['rows'])} rows, {result['wrong']} wrong bytes")
    sys.exit("\n".join(faults) if faults else 0)


main()
