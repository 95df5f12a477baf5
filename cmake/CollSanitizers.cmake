# SPDX-License-Identifier: BSD-3-Clause
# The settings of a sanitizer build: flags, the tests that run, and their environment. Sets
#   COLL_SANITIZER             "", "asan" or "tsan": the prefix of the test names
#   COLL_SANITIZER_LABELS      labels whose tests run in this build (empty: all)
#   COLL_SANITIZER_LAUNCHER    what a test command must be started with
#   COLL_TEST_ENVIRONMENT      environment of every test
#   COLL_TEST_ENVIRONMENT_SHIM what tests with the label shim have on top
#   COLL_LINK_COMPLETE         the link option that refuses a shared library with undefined symbols

set(COLL_SANITIZER "")
set(COLL_SANITIZER_LABELS "")
set(COLL_SANITIZER_LAUNCHER "")
set(COLL_LINK_COMPLETE -Wl,-z,defs)
# MPI refuses to start as root, and with more ranks than cores, unless a variable allows it.
# Tests ignore a table of this machine, so that they use the built-in defaults.
set(COLL_TEST_ENVIRONMENT COLL_TABLE=none OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe)
# Leaks of MPI itself are not reported.
set(COLL_TEST_ENVIRONMENT_SHIM "LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_LIST_DIR}/lsan-mpi.supp:print_suppressions=0")

# libFuzzer follows which edges of the code an input reaches: without these counters it finds nothing.
option(COLL_FUZZ "Build the fuzzers of tests/fuzz with clang's libFuzzer" OFF)
if(COLL_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

if(NOT COLL_SANITIZE)
  return()
endif()

# Debug information for the reports, little optimisation for the build time, assertions on.
set(CMAKE_BUILD_TYPE Sanitize CACHE STRING "Build type" FORCE)
set(coll_sanitize_link_flags -fsanitize=${COLL_SANITIZE})
set(coll_sanitize_flags -O1 -g1 -fsanitize=${COLL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
# Reports of undefined behaviour need a description of every check, 90 % of the writable data of a test, and a runtime
# with 6 MB of its own, all of which the leak check of every rank reads. Without reports a failed check is SIGILL, whose
# function the address sanitizer prints. Only vptr needs reports; it checks virtual calls, of which the library has few.
option(COLL_SANITIZE_REPORTS "Report which check for undefined behaviour failed, and in which line (slow)" OFF)
if(COLL_SANITIZE MATCHES "undefined" AND NOT COLL_SANITIZE_REPORTS)
  set(coll_sanitize_without_reports -fno-sanitize=vptr -fsanitize-undefined-trap-on-error)
  list(APPEND coll_sanitize_flags ${coll_sanitize_without_reports})
  list(APPEND coll_sanitize_link_flags ${coll_sanitize_without_reports})
endif()
# clang leaves the runtime of a sanitizer to the program, and does not define GCC's macros before version 22.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(COLL_LINK_COMPLETE "")
  if(COLL_SANITIZE MATCHES "thread")
    add_compile_definitions(__SANITIZE_THREAD__=1)
  endif()
  if(COLL_SANITIZE MATCHES "address")
    add_compile_definitions(__SANITIZE_ADDRESS__=1)
  endif()
endif()
add_compile_options(${coll_sanitize_flags})
add_link_options(${coll_sanitize_link_flags})

# coll_sanitized_run(RESULT LAUNCHER): returns the exit status of an empty program, started like the tests.
function(coll_sanitized_run result launcher)
  file(WRITE ${CMAKE_BINARY_DIR}/sanitizer_probe.cc "int main() { return 0; }\n")
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} -fsanitize=${COLL_SANITIZE} sanitizer_probe.cc -o sanitizer_probe
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR} RESULT_VARIABLE status ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "-fsanitize=${COLL_SANITIZE} does not link (Debian: libgcc-12-dev):\n${output}")
  endif()
  execute_process(COMMAND ${launcher} ${CMAKE_BINARY_DIR}/sanitizer_probe RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
  set(${result} ${status} PARENT_SCOPE)
endfunction()

# The runtimes of GCC 12 and clang 14 cannot place their shadow memory where the kernel randomises mappings by more than 28 bits.
if(EXISTS /proc/sys/vm/mmap_rnd_bits)
  file(READ /proc/sys/vm/mmap_rnd_bits coll_random_bits)
  if(coll_random_bits GREATER 28)
    set(COLL_SANITIZER_LAUNCHER setarch ${CMAKE_SYSTEM_PROCESSOR} -R)
  endif()
endif()
coll_sanitized_run(coll_status "${COLL_SANITIZER_LAUNCHER}")

if(COLL_SANITIZE MATCHES "thread")
  set(COLL_SANITIZER tsan)
  # The thread sanitizer follows one process, so ranks are threads.
  set(COLL_SANITIZER_LABELS unit threads)
  list(APPEND COLL_TEST_ENVIRONMENT "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1")
  if(NOT coll_status EQUAL 0)
    message(FATAL_ERROR "a program built with -fsanitize=thread does not start here. As root: sysctl vm.mmap_rnd_bits=28")
  endif()
else()
  set(COLL_SANITIZER asan)
  set(COLL_SANITIZER_LABELS unit sweep plan process shim threads)
  set(coll_leaks 1)
  if(NOT coll_status EQUAL 0)
    set(coll_leaks 0)
    message(STATUS "libcoll: no leak check: this machine forbids the ptrace that it needs")
  endif()
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libasan.so
    OUTPUT_VARIABLE coll_runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
  list(APPEND COLL_TEST_ENVIRONMENT
    "ASAN_OPTIONS=detect_leaks=${coll_leaks}:strict_string_checks=1:check_initialization_order=1:handle_sigill=1:handle_sigtrap=1"
    "UBSAN_OPTIONS=print_stacktrace=1"
    # The runtime that LD_PRELOAD must load first if a program without sanitizers loads a library of this build.
    "COLL_SANITIZER_RUNTIME=${coll_runtime}")
endif()
