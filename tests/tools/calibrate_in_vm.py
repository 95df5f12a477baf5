# SPDX-License-Identifier: BSD-3-Clause
"""calibrate_in_vm.py KERNEL: collctl calibrate where the module is, in a virtual machine: both mechanisms of kcoll are
measured and fitted, its own account tells throttle wait, lock, pin and copy apart, and does so by tracepoints and by
counters alike. 77: this machine cannot run one."""
import json
import os
import sys

from in_vm import machine, quietly


def main():
    # Choices need no module: one rank has none.
    told = json.loads(machine(
        sys.argv[1], quietly(f"{os.environ['KCOLL_TIMES']} --gtest_brief=1 > /tmp/times || {{ cat /tmp/times; false; }}"),
        "{ ! grep -qi skipped /tmp/times || grep -q 'built without' /tmp/times; }",
        quietly("$COLLCTL calibrate --quick --ranks 1 --output /tmp/table.json --json")))
    values = {of["name"]: of for of in told["parameters"]}
    faults = []
    for name in ("kcoll_pinned startup", "kcoll_pinned bandwidth", "kcoll_first_touch page"):
        if name not in values or values[name]["value"] <= 0 or values[name]["points"] == 0:
            faults.append(f"{name}: {values.get(name)}")
    account = [remark for remark in told["remarks"] if remark.startswith("kcoll by its ")]
    if not account:
        faults.append(f"the module's own account is missing: {told['remarks']}")
    for words in ("throttle wait", "lock", "pin", "copy of"):
        if account and words not in account[0]:
            faults.append(f"'{words}' is not in: {account[0]}")
    print(*account)
    sys.exit("\n".join(faults) if faults else 0)


main()
