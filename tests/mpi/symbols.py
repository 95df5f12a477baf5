#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""symbols.py SHIM ...: a shim exports the entry points it takes and nothing else, and needs no MPI library."""
import subprocess
import sys

TAKEN = {"MPI_Barrier", "MPI_Bcast", "MPI_Reduce", "MPI_Allreduce", "MPI_Op_create", "MPI_Op_free", "MPI_Finalize"}


def names(shim, *options):
    lines = subprocess.run(["nm", "-D", *options, shim], check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


def needed(shim):
    lines = subprocess.run(["readelf", "-d", shim], check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.split("[")[1].rstrip("]") for line in lines if "(NEEDED)" in line]


faults = []
for shim in filter(None, sys.argv[1:]):
    exported = names(shim, "--defined-only")
    if exported != TAKEN:
        faults.append(f"{shim}: exports {sorted(exported ^ TAKEN)} besides, or lacks them")
    wanted = [name for name in names(shim, "--undefined-only") if "MPI_" in name or "mpi_" in name]
    if wanted:
        faults.append(f"{shim}: needs the symbols {wanted} of an MPI library")
    libraries = [library for library in needed(shim) if "mpi" in library]
    if libraries:
        faults.append(f"{shim}: is linked with {libraries}")
print("\n".join(faults))
if not any(sys.argv[1:]):
    print("no shim was built: neither MPI library was found")
    sys.exit(77)
sys.exit(bool(faults))
