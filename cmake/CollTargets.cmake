# SPDX-License-Identifier: BSD-3-Clause
# How every directory declares its target: coll_library(), coll_program() and coll_test().

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

add_library(coll_flags INTERFACE)
target_include_directories(coll_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/lib)
target_compile_definitions(coll_flags INTERFACE _GNU_SOURCE)
target_compile_options(coll_flags INTERFACE -Wall -Wextra -Werror -Wno-missing-field-initializers)
target_link_libraries(coll_flags INTERFACE Threads::Threads)
if(COLL_SANITIZE)
  target_compile_options(coll_flags INTERFACE -fsanitize=${COLL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(coll_flags INTERFACE -fsanitize=${COLL_SANITIZE})
endif()

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

# coll_test(NAME SOURCES ... LINKS ... [LABELS ...] [TIMEOUT seconds]): a GoogleTest program, one ctest line.
function(coll_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LINKS;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  coll_program(${name} SOURCES ${arg_SOURCES} LINKS ${arg_LINKS} GTest::gtest GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
endfunction()
