# SPDX-License-Identifier: BSD-3-Clause
# Functions with which every directory declares its targets: coll_library(), coll_program(), coll_test() and
# coll_script_test().

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# For files that CMake compiles; coll_werror is the same for commands that call a compiler themselves.
set(CMAKE_COMPILE_WARNING_AS_ERROR ${COLL_WERROR})
set(coll_werror "")
if(COLL_WERROR)
  set(coll_werror -Werror)
endif()

# Installed programs and shims find libcoll.so relative to themselves, so the prefix can be moved.
file(RELATIVE_PATH coll_bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set(CMAKE_INSTALL_RPATH "$ORIGIN;$ORIGIN/${coll_bin_to_lib}")

add_library(coll_flags INTERFACE)
target_include_directories(coll_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/lib)
target_compile_definitions(coll_flags INTERFACE _GNU_SOURCE)
target_compile_options(coll_flags INTERFACE -Wall -Wextra -Wno-missing-field-initializers)
# GCC 12 warns about "text" + string at -O3, CMake's Release, although nothing overlaps (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(coll_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
target_link_libraries(coll_flags INTERFACE Threads::Threads)

# coll_library(NAME SOURCES ... LINKS ...): the static library coll_NAME of one directory under lib/.
function(coll_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_library(coll_${name} STATIC ${arg_SOURCES})
  target_link_libraries(coll_${name} PUBLIC coll_flags ${arg_LINKS})
endfunction()

# coll_program(NAME SOURCES ... LINKS ...): a program that is not installed.
function(coll_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE coll_flags ${arg_LINKS})
endfunction()

# coll_test(NAME SOURCES ... LINKS ...): a GoogleTest program, one ctest line.
# coll_script_test(NAME COMMAND ...): any other command; exit status 77 is a skip, whose reason it prints.
# Both take:
#   [LABELS ...]       what it is (tests/README.md); decides which sanitizers it runs under.
#                      Default: plan for the folders plan, algo, model, tune and sim, else unit
#   [TIMEOUT s]        default 120
#   [PROCESSORS n]     cores it keeps busy; default 2 for tests of several ranks, else 1
#   [ENVIRONMENT ...]  NAME=value
#   [ARGS ...]         (coll_test) arguments of the program
#   [OPTIMIZED]        (coll_test) for a program that spends its time in loops of its own
#   [EXCEPT pattern]   (coll_test) cases of GoogleTest that another test runs
#   [LATER pattern]    (coll_test) cases that run as NAME_later: not in `make check`; in sanitizer builds and for
#                      other processors in `make test-long` only
#   [LONG pattern]     (coll_test) cases that run as NAME_long, in `make test-long` only
#   [CPUS name ...]    runs it once more for each of these processors (COLL_CPU), as NAME.CPU, without sanitizers and
#                      emulators
#   [CPUS_LATER]       does so in `make test-long`
#   [NO_SANITIZE why]  leaves it out of the sanitizer builds
#   [SANITIZE_LATER]   in sanitizer builds, and where an emulator runs the tests, it has the label long
#   [NO_CHECK why]     leaves it out of `make check`, which otherwise runs it unless its labels say no (coll_in_check())
set(coll_test_options "OPTIMIZED;SANITIZE_LATER;CPUS_LATER")
set(coll_test_keywords "TIMEOUT;PROCESSORS;NO_SANITIZE;NO_CHECK;EXCEPT;LATER;LONG")
set(coll_test_lists "LABELS;ENVIRONMENT;ARGS;CPUS")

# For machines that are slow, or emulated.
set(COLL_TIMEOUT_FACTOR 1 CACHE STRING "What the time limits of tests are multiplied by")

# The processors with rules of their own, one for every set of rules about loads and stores (lib/mem/processor.cc).
set(COLL_CPUS zen3 zen4 zen5 xeon neoverse)
set(COLL_CPUS_BY_STORES zen4 zen5)

# The kernels of the virtual machines. `make test` uses the newest; tests on the others have the label long.
set(COLL_KERNELS 6.1 6.12)
# Debian's newest kernels, and kernels built with checks; only the module's own tests run there.
set(COLL_OTHER_KERNELS trixie-backports sid debug debug-6.12)
function(coll_kernel_labels result kernel)
  list(GET COLL_KERNELS -1 newest)
  if(kernel STREQUAL newest)
    set(${result} kmod PARENT_SCOPE)
  else()
    set(${result} kmod long PARENT_SCOPE)
  endif()
endfunction()

# The targets that `make check` builds: the programs of its tests, and the programs that they start. Script tests add
# theirs.
if(COLL_TESTS)
  add_custom_target(check_programs)
endif()

function(coll_test name)
  cmake_parse_arguments(arg "${coll_test_options}" "${coll_test_keywords}" "SOURCES;LINKS;${coll_test_lists}" ${ARGN})
  coll_program(${name} SOURCES ${arg_SOURCES} LINKS ${arg_LINKS} GTest::gtest GTest::gmock GTest::gtest_main)
  # Most tests spend their time in the library, and compiling the tests is half of a build: optimize them less.
  if(NOT arg_OPTIMIZED)
    target_compile_options(${name} PRIVATE -O0 -g1)
  endif()
  coll_test_runs_here(runs_here "${arg_LABELS}" "${arg_NO_SANITIZE}")
  if(NOT runs_here)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  coll_in_check(in_check "${arg_LABELS}" "${arg_NO_CHECK}")
  if(in_check)
    add_dependencies(check_programs ${name})
  endif()
  coll_emulation_limit(why emulated ${name})
  if(emulated)
    coll_script_test(${name}_emulated COMMAND sh -c "echo \"$1\" && exit 77" sh ${why} NO_CHECK "it is a reason")
    list(APPEND arg_EXCEPT ${emulated})
  endif()
  set(left_out ${arg_EXCEPT} ${arg_LATER} ${arg_LONG})
  list(JOIN arg_EXCEPT ":" except)
  list(JOIN arg_LATER ":" later)
  list(JOIN arg_LONG ":" long)
  if(arg_LATER)
    coll_script_test(${name}_later COMMAND $<TARGET_FILE:${name}> --gtest_brief=1 --gtest_filter=${later}-${except}
      ${arg_ARGS} ${ARGN} SANITIZE_LATER CPUS_LATER NO_CHECK "the other cases are enough")
  endif()
  if(arg_LONG)
    if(NOT arg_LABELS)
      coll_default_label(arg_LABELS)
    endif()
    coll_script_test(${name}_long COMMAND $<TARGET_FILE:${name}> --gtest_brief=1 --gtest_filter=${long}-${except}
      ${arg_ARGS} ${ARGN} LABELS ${arg_LABELS} long)
  endif()
  set(filter "")
  if(left_out)
    list(JOIN left_out ":" filter)
    set(filter --gtest_filter=-${filter})
  endif()
  coll_script_test(${name} COMMAND $<TARGET_FILE:${name}> --gtest_brief=1 ${filter} ${arg_ARGS} ${ARGN})
endfunction()

function(coll_script_test name)
  cmake_parse_arguments(arg "${coll_test_options}" "${coll_test_keywords}" "COMMAND;SOURCES;LINKS;${coll_test_lists}" ${ARGN})
  coll_test_runs_here(runs_here "${arg_LABELS}" "${arg_NO_SANITIZE}")
  if(NOT runs_here)
    return()
  endif()
  if(NOT arg_LABELS)
    coll_default_label(arg_LABELS)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * ${COLL_TIMEOUT_FACTOR}")
  coll_in_check(in_check "${arg_LABELS}" "${arg_NO_CHECK}")
  list(REMOVE_ITEM arg_LABELS check)
  set(environment ${COLL_TEST_ENVIRONMENT})
  if("shim" IN_LIST arg_LABELS)
    list(APPEND environment ${COLL_TEST_ENVIRONMENT_SHIM})
  endif()
  set(prefix "")
  if(COLL_SANITIZER)
    # The three builds of `make test` are one ctest: their tests have different names.
    set(prefix ${COLL_SANITIZER}.)
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 3")
    list(APPEND arg_LABELS ${COLL_SANITIZER})
  endif()
  if(arg_SANITIZE_LATER AND (COLL_SANITIZER OR coll_emulates))
    list(APPEND arg_LABELS long)
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
    foreach(label process shim threads install)
      if(label IN_LIST arg_LABELS)
        set(arg_PROCESSORS 2)
      endif()
    endforeach()
  endif()
  if(COLL_SANITIZER OR coll_emulates)
    # Sanitizers and emulators check code, not choices: one processor is enough.
    set(arg_CPUS "")
  endif()
  foreach(cpu here ${arg_CPUS})
    set(full_name ${name})
    set(cpu_environment "")
    if(NOT cpu STREQUAL "here")
      set(full_name ${name}.${cpu})
      set(cpu_environment COLL_CPU=${cpu})
    endif()
    # `make check` tests the rules for this machine's processor, `make test` those for the others, too.
    set(labels ${arg_LABELS})
    if(in_check AND cpu STREQUAL "here")
      list(APPEND labels check)
    elseif(arg_CPUS_LATER AND NOT cpu STREQUAL "here")
      list(APPEND labels long)
    endif()
    # GoogleTest's list of skipped cases with reasons, which scripts/list-skips.py reads.
    set(report GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/gtest/${full_name}.xml)
    set(command ${COLL_SANITIZER_LAUNCHER} ${arg_COMMAND})
    coll_emulation_limit(why emulated ${full_name})
    if(why AND NOT emulated)
      set(command sh -c "echo \"$1\" && exit 77" sh ${why})
    endif()
    add_test(NAME ${prefix}${full_name} COMMAND ${command})
    set_tests_properties(${prefix}${full_name} PROPERTIES
      TIMEOUT ${arg_TIMEOUT}
      LABELS "${labels}"
      PROCESSORS ${arg_PROCESSORS}
      SKIP_RETURN_CODE 77
      ENVIRONMENT "${environment};${report};${cpu_environment};${arg_ENVIRONMENT}")
    if("timing" IN_LIST arg_LABELS)
      set_tests_properties(${prefix}${full_name} PROPERTIES RUN_SERIAL ON)
    endif()
  endforeach()
endfunction()

# Sets RESULT to the label of a test that has none, by its folder.
function(coll_default_label result)
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
  if(folder MATCHES "^(plan|algo|model|tune|sim)$")
    set(${result} plan PARENT_SCOPE)
  else()
    set(${result} unit PARENT_SCOPE)
  endif()
endfunction()

# Sets RESULT if `make check` runs a test with these labels: if they contain check, or no long or special kind.
function(coll_in_check result labels no_check)
  set(${result} ON PARENT_SCOPE)
  if("check" IN_LIST labels)
    return()
  endif()
  if(no_check)
    set(${result} OFF PARENT_SCOPE)
  endif()
  foreach(label sweep timing shim install kmod long)
    if(label IN_LIST labels)
      set(${result} OFF PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# Sets RESULT if a test with these labels belongs to this build.
function(coll_test_runs_here result labels no_sanitize)
  set(${result} ON PARENT_SCOPE)
  if(NOT COLL_SANITIZER)
    return()
  endif()
  if(NOT labels)
    coll_default_label(labels)
  endif()
  set(${result} OFF PARENT_SCOPE)
  if(no_sanitize)
    return()
  endif()
  foreach(label IN LISTS labels)
    if(label IN_LIST COLL_SANITIZER_LABELS)
      set(${result} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()
