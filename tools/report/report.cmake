# SPDX-License-Identifier: BSD-3-Clause
# collctl report, as a library: its page consists of page/ and D3, which Debian's node-d3 installs.
find_file(COLL_D3 d3.min.js PATHS /usr/share/nodejs/d3/dist NO_DEFAULT_PATH)
find_file(COLL_D3_LICENCE copyright PATHS /usr/share/doc/node-d3 NO_DEFAULT_PATH)
mark_as_advanced(COLL_D3 COLL_D3_LICENCE)

file(GLOB sources CONFIGURE_DEPENDS report/*.cc)
add_library(coll_report STATIC ${sources})
target_link_libraries(coll_report PUBLIC coll_tools)
target_compile_options(coll_report PRIVATE $<$<CONFIG:RelWithDebInfo,Release>:-Os> $<$<CONFIG:RelWithDebInfo>:-g1>)
set_target_properties(coll_report PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 4)
# Not in unity builds: page.cc includes the page through the assembler, and measured.cc has timed loops.
set_source_files_properties(report/page.cc report/measured.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
if(NOT COLL_SANITIZER)
  set_source_files_properties(report/measured.cc PROPERTIES COMPILE_OPTIONS $<$<CONFIG:RelWithDebInfo,Release>:-O2>)
else()
  target_compile_options(coll_report PRIVATE -O0)
endif()

if(COLL_D3 AND COLL_D3_LICENCE)
  file(GLOB page CONFIGURE_DEPENDS report/page/*)
  set(template ${CMAKE_CURRENT_BINARY_DIR}/report-page.html)
  add_custom_command(OUTPUT ${template}
    COMMAND ${CMAKE_COMMAND} -DPAGE=${CMAKE_CURRENT_SOURCE_DIR}/report/page -DD3=${COLL_D3} -DLICENCE=${COLL_D3_LICENCE}
      -DOUTPUT=${template} -P ${CMAKE_CURRENT_SOURCE_DIR}/report/page.cmake
    DEPENDS ${page} ${COLL_D3} ${COLL_D3_LICENCE} report/page.cmake VERBATIM)
  set_source_files_properties(report/page.cc PROPERTIES
    OBJECT_DEPENDS ${template} COMPILE_DEFINITIONS COLL_REPORT_PAGE="${template}")
else()
  message(STATUS "libcoll: collctl report writes no page, only JSON, because D3 is not installed (apt-get install node-d3)")
endif()
install(FILES report/report.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/libcoll COMPONENT tools)
