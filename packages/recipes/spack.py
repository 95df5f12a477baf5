# SPDX-License-Identifier: BSD-3-Clause
from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Libcoll(CMakePackage):
    """Collectives between the processes of one node, directly or under unmodified MPI programs."""

    homepage = "https://libcoll.example.org"
    url = "https://libcoll.example.org/libcoll-0.3.0.tar.gz"

    license("BSD-3-Clause AND GPL-2.0-only")

    # version("0.3.0", sha256="the checksum of the archive")

    variant("openmpi", default=True, description="Build the shim for Open MPI")
    variant("mpich", default=False, description="Build the shim for MPICH")
    variant("tools", default=True, description="Build collctl")
    variant("heap", default=True, description="Build the shim's shared heap (COLL_HEAP)")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    # Without manual pages: Spack has no scdoc.
    depends_on("hwloc@2.8:")
    depends_on("highway")
    depends_on("liburing")
    depends_on("nlohmann-json")
    depends_on("eigen@3:")
    depends_on("fmt", when="+tools")
    depends_on("cli11", when="+tools")
    depends_on("jemalloc", when="+heap")
    depends_on("openmpi@4.1:", when="+openmpi")
    depends_on("mpich@4:", when="+mpich")

    conflicts("%gcc@:11", msg="libcoll is written in C++20: GCC 12 or clang 14")
    conflicts("platform=darwin", msg="libcoll is for Linux")

    generator("ninja")

    def cmake_args(self):
        arguments = [
            self.define("COLL_TESTS", False),
            self.define("COLL_BENCH", False),
            self.define_from_variant("COLL_TOOLS", "tools"),
        ]
        if "+openmpi" in self.spec:
            arguments.append(self.define("COLL_OPENMPI_CC", self.spec["openmpi"].prefix.bin.mpicc))
        if "+mpich" in self.spec:
            arguments.append(self.define("COLL_MPICH_CC", self.spec["mpich"].prefix.bin.mpicc))
        return arguments
