# SPDX-License-Identifier: BSD-3-Clause
"""Who may include whom: the table of the design, as code. A new arrow is a change of the architecture."""

# Arrows as the design draws them; what a directory may include is what it can reach.
ARROWS = {
    "config": [],
    "sync": [],
    "mem": ["config"],
    "plan": [],
    "topo": ["config"],
    "algo": ["plan", "topo"],
    "model": ["algo", "plan", "topo"],
    "tune": ["model", "algo", "plan", "topo"],
    "sim": ["plan", "topo", "model"],
    "transport": ["mem", "sync"],
    "launch": ["config", "transport", "sync"],
    "exec": ["plan", "transport", "mem", "sync"],
    "comm": ["config", "topo", "transport", "tune", "exec"],
    "api": ["comm", "launch"],
    # The shim, and its heap, are guests of the public API; the tools may look at everything that needs no peers.
    "heap": [],
    "mpi": ["heap"],
    "tools": ["api", "launch", "model", "sim", "tune", "algo", "plan", "topo", "exec", "transport", "mem", "config"],
}

# Layers that include what they have an arrow to, and nothing below that.
DIRECT_ONLY = {"heap", "mpi", "tools"}

# The public header may be included by all; the header shared with the kernel module by these.
UAPI_USERS = {"transport", "tools"}

# Foreign headers, <name.h> and <name/...>, that one place keeps for itself.
KEPT_BY = {
    "hwloc": "lib/topo/hwloc.cc",
    "jemalloc": "lib/heap/",
    "mpi": "lib/mpi/",
}

# System calls and instructions of waiting, which one directory keeps for itself, so that all waiting is done in one way.
WAITING = ("sched_yield", "SYS_futex", "nanosleep", "clock_nanosleep", "usleep", "__builtin_ia32_pause", "_mm_pause")
WAITING_KEPT_BY = "lib/sync/"


def allowed(layer):
    """All layers that `layer` may include, itself among them."""
    if layer in DIRECT_ONLY:
        return {layer, *ARROWS[layer]}
    seen, todo = {layer}, [layer]
    while todo:
        for below in ARROWS[todo.pop()]:
            if below not in seen:
                seen.add(below)
                todo.append(below)
    return seen
