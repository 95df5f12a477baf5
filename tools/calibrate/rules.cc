// SPDX-License-Identifier: BSD-3-Clause
#include "tools/calibrate/rules.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "coll/coll.h"
#include "tune/choice.h"

namespace coll::tools {
namespace {

using model::Chosen;

// Returns whether an algorithm of these rows stores partial results: it would round those of 16-bit floats, so that the
// rows must not apply to them.
bool rounds(std::span<const Chosen> rows) {
  return std::ranges::any_of(rows, [](const Chosen& row) {
    return row.algorithm != nullptr && row.algorithm->stores_partials && plan::is_reduction(row.collective);
  });
}

std::string ranges_text(std::span<const Chosen> rows) {
  std::string text;
  for (const Chosen& row : rows) {
    const tune::Choice choice{
        .algorithm = row.algorithm, .parameters = row.parameters, .kernel_copies = row.kernel_copies};
    text += (text.empty() ? "" : ";\n  ") + tune::rule_text(choice);
    if (&row != &rows.back()) text += fmt::format("@{}", row.up_to_bytes);
  }
  return text;
}

// The rows of one collective and number of ranks. The row of the latency path, if any, comes first.
std::string statements_text(std::span<const Chosen> rows, const std::string& evidence) {
  const Chosen& first = rows.front();
  const char* collective = plan::name(first.collective);
  std::string text;
  if (first.algorithm == nullptr) {
    const auto last = std::ranges::find_if(rows, [](const Chosen& row) { return row.algorithm != nullptr; }) - 1;
    text += fmt::format("latency[{}, p={}] = {} -- {}\n", collective, first.ranks,
                        std::max<size_t>(last->up_to_bytes * plan::pieces_shown(first.collective, first.ranks), 1),
                        evidence);
  }
  return text + fmt::format("{}[p={}{}]: {}\n  -- {}\n", collective, first.ranks, rounds(rows) ? ", element!=2" : "",
                            ranges_text(rows), evidence);
}

}  // namespace

std::string rules_text(const model::Table& table) {
  const model::Fingerprint& of = table.fingerprint;
  const std::string evidence = fmt::format("{}, libcoll {}, {}", of.processor, coll_version(), table.date);
  // In a virtual machine, processors of several generations report the same name; the size of their L2 tells them
  // apart.
  const std::string cache = of.l2_bytes == 0 ? "" : fmt::format(", l2={}", of.l2_bytes);
  std::string text = fmt::format(
      "# SPDX-License-"
      "Identifier: BSD-3-Clause\n"
      "# Measured by collctl calibrate. Sockets: {}, NUMA nodes: {}, L3s: {}, cores: {}.\n"
      "when processor~\"{}\"{}, !oversubscribed, !irregular, !mapped, !single_copy\n",
      of.sockets, of.numas, of.l3s, of.cores, of.processor, cache);
  const auto same_call = [](const Chosen& a, const Chosen& b) {
    return a.collective == b.collective && a.ranks == b.ranks;
  };
  for (auto begin = table.choices.begin(); begin != table.choices.end();) {
    const auto end =
        std::find_if_not(begin, table.choices.end(), [&](const Chosen& row) { return same_call(*begin, row); });
    text += statements_text({begin, end}, evidence);
    begin = end;
  }
  return text;
}

}  // namespace coll::tools
