// SPDX-License-Identifier: BSD-3-Clause
#include "tools/report/page.h"

#include <string_view>

// page.cmake generates the template; .incbin includes its bytes.
#ifdef COLL_REPORT_PAGE
__asm__(
    ".pushsection .rodata\n"
    ".globl coll_report_page_begin\n"
    ".globl coll_report_page_end\n"
    "coll_report_page_begin:\n"
    ".incbin \"" COLL_REPORT_PAGE
    "\"\n"
    "coll_report_page_end:\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" const char coll_report_page_begin[], coll_report_page_end[];
#endif

namespace coll::tools::report {

std::string page_problem() {
#ifdef COLL_REPORT_PAGE
  return "";
#else
  return "collctl was built without D3, which draws the report; install node-d3 and build again, or use --json";
#endif
}

std::string page_with([[maybe_unused]] const std::string& json) {
#ifdef COLL_REPORT_PAGE
  constexpr std::string_view mark = "@DATA@";
  const std::string_view page(coll_report_page_begin, size_t(coll_report_page_end - coll_report_page_begin));
  const size_t at = page.find(mark);
  std::string out(page.substr(0, at));
  // "</script>" and "<!--" would end or change the script element: escape every '<', which occurs in strings only.
  for (const char c : json) {
    if (c == '<') out += "\\u003c";
    else out += c;
  }
  return out += page.substr(at + mark.size());
#else
  return "";
#endif
}

}  // namespace coll::tools::report
