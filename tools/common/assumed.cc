// SPDX-License-Identifier: BSD-3-Clause
#include "tools/common/assumed.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tools/command.h"
#include "tune/choice.h"

namespace coll::tools {
namespace {

constexpr std::pair<std::string_view, bool Assumed::*> flags[] = {{"huge-pages", &Assumed::huge_pages},
                                                                  {"shared-heap", &Assumed::shared_heap},
                                                                  {"in-place", &Assumed::in_place},
                                                                  {"scheduler-groups", &Assumed::scheduler_groups}};

double parse_cma(std::string_view text) {
  if (text == "off") return tune::no_copy;
  double times = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), times);
  if (error != std::errc() || rest != text.data() + text.size() || !(times >= 0.01 && times <= 1000))
    throw usage(fmt::format(
        "--assume cma={}: not a ratio of times; use off, or 0.01 to 1000: the time of CMA over that of staging", text));
  return times;
}

void assume(std::string_view item, Assumed& made) {
  if (item.starts_with("cma=")) return made.cma_times = parse_cma(item.substr(4)), void();
  const auto* flag = std::ranges::find(flags, item, [](const auto& known) { return known.first; });
  if (flag == std::end(flags))
    throw usage(fmt::format(
        "--assume: unknown item '{}'; use cma=TIMES, cma=off, huge-pages, shared-heap, in-place or scheduler-groups",
        item));
  made.*flag->second = true;
}

}  // namespace

void add_assume_option(Command& sub, std::string& text) {
  sub.add_option("--assume", text,
                 "what a communicator would measure or find, separated by commas:\n"
                 "cma=TIMES (time of CMA over that of staging) or cma=off, huge-pages,\n"
                 "shared-heap, in-place, scheduler-groups; default: cma as the table\n"
                 "prices it, huge pages if this machine has them, none of the others")
      ->option_text("LIST");
}

Assumed parse_assumed(const std::string& text) {
  Assumed made;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    assume(std::string_view(text).substr(begin, end - begin), made);
    begin = end + 1;
  }
  if (made.in_place && made.cma_times.has_value())
    throw usage("--assume: in-place leaves nothing to copy with CMA; give only one of in-place and cma");
  return made;
}

}  // namespace coll::tools
