# SPDX-License-Identifier: BSD-3-Clause
"""contention_in_vm.py KERNEL: collctl bench contention where the module is, in a virtual machine: every transport works,
what arrives is right, and the counts are what each mechanism stands for. 77: this machine cannot run one."""
import sys

from in_vm import collctl


def fault_of(row):
    """Locks and pins per access that a mechanism must, or must not, cause."""
    if row["transport"] == "cma":
        right = row["locks"] >= 1 and row["pages_pinned"] == row["pages"]
    else:
        # An access now and then may be interrupted by something that takes its own lock.
        right = row["locks"] < 0.1 and row["pages_pinned"] == 0
    return "" if right else f"locks {row['locks']}, pins {row['pages_pinned']}: {row}"


def main():
    told = collctl(sys.argv[1], "bench contention -n 2 --pages 1,16 --time 0.002")
    faults = [f"{name}: {state['problem']}" for name, state in told["transports"].items() if not state["works"]]
    if not told["counts"]["works"]:
        faults.append("counts: " + told["counts"]["problem"])
    else:
        faults += [fault for fault in map(fault_of, told["rows"]) if fault]
    if len(told["rows"]) != 4 * 4 * 2 * 2 or told["wrong"] != 0:
        faults.append(f"{len(told['rows'])} rows, {told['wrong']} wrong bytes")
    sys.exit("\n".join(faults) if faults else 0)


main()
