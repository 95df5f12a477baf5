# SPDX-License-Identifier: BSD-3-Clause
# Finds the dependencies of all directories, and prints all missing ones in one message with the command that installs them.
#
# Targets for the directories:
#   PkgConfig::HWLOC  PkgConfig::HWY  PkgConfig::URING  PkgConfig::NUMA
#   PkgConfig::TRACEFS (optional)
#   GTest::*  CLI11::CLI11  fmt::fmt  nlohmann_json::nlohmann_json  Eigen3::Eigen  benchmark::benchmark

set(coll_missing "")

# coll_need(LABEL found DEBIAN packages [OPTION option]): notes a missing dependency; `option` switches off the part that needs it.
function(coll_need label found)
  cmake_parse_arguments(arg "" "OPTION" "DEBIAN" ${ARGN})
  if(found)
    return()
  endif()
  list(JOIN arg_DEBIAN " " packages)
  set(fix "apt-get install ${packages}")
  if(arg_OPTION)
    string(APPEND fix ", or leave that part out with -D${arg_OPTION}=OFF")
  endif()
  set(coll_missing "${coll_missing}  ${label}: ${fix}\n" PARENT_SCOPE)
endfunction()

# The library itself.
# hwloc 2.8 added HWLOC_TOPOLOGY_FLAG_NO_DISTANCES, the newest interface that lib/topo/hwloc.cc uses.
# tests/style/versions.py lists the files that repeat this version.
set(COLL_HWLOC_VERSION 2.8)
pkg_check_modules(HWLOC QUIET IMPORTED_TARGET hwloc>=${COLL_HWLOC_VERSION})
coll_need("hwloc ${COLL_HWLOC_VERSION}" "${HWLOC_FOUND}" DEBIAN libhwloc-dev)
pkg_check_modules(HWY QUIET IMPORTED_TARGET libhwy)
coll_need("Highway" "${HWY_FOUND}" DEBIAN libhwy-dev)
pkg_check_modules(URING QUIET IMPORTED_TARGET liburing)
coll_need("liburing" "${URING_FOUND}" DEBIAN liburing-dev)
# Header-only: the tables of lib/model.
find_package(nlohmann_json QUIET)
coll_need("nlohmann-json" "${nlohmann_json_FOUND}" DEBIAN nlohmann-json3-dev)
# Header-only: the fit of lib/model.
find_package(Eigen3 QUIET NO_MODULE)
coll_need("Eigen 3" "${Eigen3_FOUND}" DEBIAN libeigen3-dev)

if(COLL_TOOLS)
  find_package(CLI11 QUIET)
  coll_need("CLI11" "${CLI11_FOUND}" DEBIAN libcli11-dev OPTION COLL_TOOLS)
  find_package(fmt QUIET)
  coll_need("fmt" "${fmt_FOUND}" DEBIAN libfmt-dev OPTION COLL_TOOLS)
  # Without them calibrate reads kcoll's counters instead of its tracepoints.
  pkg_check_modules(TRACEFS QUIET IMPORTED_TARGET libtracefs libtraceevent)
endif()

if(COLL_BENCH)
  find_package(benchmark QUIET)
  coll_need("Google Benchmark" "${benchmark_FOUND}" DEBIAN libbenchmark-dev OPTION COLL_BENCH)
  pkg_check_modules(NUMA QUIET IMPORTED_TARGET numa)
  coll_need("libnuma" "${NUMA_FOUND}" DEBIAN libnuma-dev OPTION COLL_BENCH)
endif()

if(COLL_TESTS)
  find_package(GTest QUIET)
  if(NOT GTest_FOUND OR NOT TARGET GTest::gmock)
    coll_need("GoogleTest with GoogleMock" "" DEBIAN libgtest-dev libgmock-dev OPTION COLL_TESTS)
  endif()
  find_package(Python3 QUIET COMPONENTS Interpreter)
  coll_need("Python 3" "${Python3_Interpreter_FOUND}" DEBIAN python3 OPTION COLL_TESTS)
endif()

if(coll_missing)
  message(FATAL_ERROR "libcoll needs what was not found here:\n${coll_missing}"
    "All packages, with reasons: packages/debian.txt; packages/ensure.sh installs them.")
endif()
