#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""symbols.py SHIM ...: a shim exports the functions that it intercepts and no others, and needs no MPI library."""
import subprocess
import sys

COLLECTIVES = ["Barrier", "Bcast", "Reduce", "Allreduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan",
               "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw",
               "Neighbor_allgather", "Neighbor_allgatherv", "Neighbor_alltoall", "Neighbor_alltoallv",
               "Neighbor_alltoallw"]
STARTED = [f"I{name.lower()}" for name in COLLECTIVES]
OTHERS = ["Alloc_mem", "Free_mem", "Op_create", "Op_free", "Init", "Init_thread", "Finalize", "Comm_free",
          "Comm_disconnect", "Intercomm_merge", "Iprobe", "Improbe", "Win_test", "Wait", "Waitall", "Waitany",
          "Waitsome", "Test", "Testall", "Testany", "Testsome", "Start", "Startall", "Request_free", "Cancel"]
PERSISTENT = [f"{name}_init" for name in COLLECTIVES]
SENDS = ["Isend", "Issend", "Irsend", "Ibsend", "Bsend"]
ALLOCATOR = {"malloc", "free", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign", "valloc", "pvalloc",
             "malloc_usable_size"}


def taken(shim):
    """Returns the functions of C, and those of Fortran that do not call them: lib/mpi/fortran.cc."""
    symbols = {f"MPI_{name}" for name in COLLECTIVES + STARTED + OTHERS + SENDS} | {"PMPI_Free_mem"}
    # MPI 4 has forms with large counts.
    if any(name.endswith("_c") for name in names(shim, "--defined-only")):
        symbols |= {f"MPI_{name}_c" for name in COLLECTIVES + STARTED + PERSISTENT if "arrier" not in name}
    if "openmpi" in shim:
        for name in map(str.lower, COLLECTIVES + STARTED + OTHERS + SENDS + ["Alloc_mem_cptr"]):
            symbols |= {f"mpi_{name}", f"mpi_{name}_", f"mpi_{name}__", f"MPI_{name.upper()}", f"mpi_{name}_f08_"}
        # Open MPI 4.1 has these as an extension.
        prefix = "mpix" if "MPIX_Barrier_init" in names(shim, "--defined-only") else "mpi"
        symbols |= {f"{prefix.upper()}_{name}" for name in PERSISTENT}
        for name in (f"{prefix}_{name}" for name in map(str.lower, PERSISTENT)):
            symbols |= {name, f"{name}_", f"{name}__", name.upper(), f"{name}_f08_"}
    elif "abi" in shim:
        symbols |= {f"MPI_{name}" for name in PERSISTENT} | {"MPI_Request_get_status", "ucp_worker_progress"}
    else:
        symbols |= {f"MPI_{name}" for name in PERSISTENT} | {"mpi_barrier_init_f08_"}
        symbols |= {f"mpi_{name.lower()}_f08_" for name in ["Barrier", "Ibarrier"] + OTHERS if name != "Free_mem"}
        symbols |= {"MPI_Request_get_status", "ucp_worker_progress"}
    return symbols


def names(shim, *options):
    lines = subprocess.run(["nm", "-D", *options, shim], check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


def needed(shim):
    lines = subprocess.run(["readelf", "-d", shim], check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.split("[")[1].rstrip("]") for line in lines if "(NEEDED)" in line]


faults = []
for shim in filter(None, sys.argv[1:]):
    exported = names(shim, "--defined-only")
    # All of the allocator's names or, in a shim without the heap, none.
    exported -= ALLOCATOR if ALLOCATOR <= exported else set()
    if exported != taken(shim):
        faults.append(f"{shim}: exports {sorted(exported ^ taken(shim))} besides, or lacks them")
    wanted = [name for name in names(shim, "--undefined-only") if "MPI_" in name or "mpi_" in name]
    if wanted:
        faults.append(f"{shim}: needs the symbols {wanted} of an MPI library")
    libraries = [library for library in needed(shim) if "mpi" in library]
    if libraries:
        faults.append(f"{shim}: is linked with {libraries}")
print("\n".join(faults))
sys.exit(bool(faults))
