# SPDX-License-Identifier: BSD-3-Clause
# What an emulator cannot run: the lines "TEST: REASON" and "TEST CASES: REASON" of tests/emulated.txt. Where a cross build
# has an emulator, coll_test() and coll_script_test() turn these tests and cases into skips that print the reason.
# `coll_emulates` is set there. The emulator is many times as slow as a processor, so that programs run for one set
# of rules, and tests that sanitizer builds leave to `make test-long` have the label long there, too (CollTargets.cmake).
set(coll_emulation_limits "")
set(coll_emulates OFF)
if(CMAKE_CROSSCOMPILING AND CMAKE_CROSSCOMPILING_EMULATOR)
  set(coll_emulates ON)
  set(coll_emulated ${PROJECT_SOURCE_DIR}/tests/emulated.txt)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${coll_emulated})
  file(STRINGS ${coll_emulated} coll_emulation_limits REGEX "^[^#]")
  # tests/comm/ranks.h: sweeps are thinner, and tests of every transport leave out the one that qemu-user lacks.
  list(APPEND COLL_TEST_ENVIRONMENT COLL_TEST_EMULATED=1 COLL_TEST_WITHOUT=cma)
  # Open MPI does not try process_vm_readv() either.
  list(APPEND COLL_TEST_ENVIRONMENT_SHIM OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_smsc=^cma)
endif()

# coll_emulation_limit(REASON CASES TEST): sets CASES to the patterns of GoogleTest cases that cannot be emulated and REASON
# to the reasons, or only REASON if that holds for the whole test. TEST of a line is a regular expression.
function(coll_emulation_limit reason cases test)
  set(reasons "")
  set(patterns "")
  foreach(line IN LISTS coll_emulation_limits)
    if(NOT line MATCHES "^([^ :]+)( ([^ ]+))?: (.+)$")
      message(FATAL_ERROR "tests/emulated.txt: '${line}' is neither 'TEST: REASON' nor 'TEST CASES: REASON'")
    endif()
    set(tests "${CMAKE_MATCH_1}")
    set(pattern "${CMAKE_MATCH_3}")
    set(text "${CMAKE_MATCH_4}")
    if(test MATCHES "^(${tests})$")
      list(APPEND reasons "${text}")
      list(APPEND patterns ${pattern})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES reasons)
  list(JOIN reasons ", and " reasons)
  set(${reason} "${reasons}" PARENT_SCOPE)
  set(${cases} "${patterns}" PARENT_SCOPE)
endfunction()
