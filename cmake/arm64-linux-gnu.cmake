# SPDX-License-Identifier: BSD-3-Clause
# Cross-compiles for 64-bit Arm on another Debian machine: `cmake --preset arm64`. Needs crossbuild-essential-arm64 and
# the libraries of packages/debian.txt with :arm64; scripts/test-arm64-here.sh installs them. With qemu-user the tests run,
# too.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(coll_triplet aarch64-linux-gnu)
set(CMAKE_LIBRARY_ARCHITECTURE ${coll_triplet})

# `CC=... CXX=...` chooses another compiler, such as aarch64-linux-gnu-gcc-12.
if(NOT DEFINED ENV{CC})
  set(CMAKE_C_COMPILER ${coll_triplet}-gcc)
endif()
if(NOT DEFINED ENV{CXX})
  set(CMAKE_CXX_COMPILER ${coll_triplet}-g++)
endif()

# Debian keeps the libraries of an architecture under /usr/lib/TRIPLET, where CMake looks because of
# CMAKE_LIBRARY_ARCHITECTURE, and pkg-config by this variable.
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/${coll_triplet}/pkgconfig:/usr/share/pkgconfig)

# Runs the programs of the build. `qemu-aarch64-static` is its name in Debian 12.
find_program(COLL_QEMU NAMES qemu-aarch64 qemu-aarch64-static DOC "The emulator that runs arm64 programs here")
mark_as_advanced(COLL_QEMU)
if(COLL_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${COLL_QEMU})
endif()
