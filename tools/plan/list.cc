// SPDX-License-Identifier: BSD-3-Clause
// collctl list: prints the algorithms, the papers that they come from, and the parameters that they read.
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tools/command.h"
#include "tools/command_line.h"
#include "tools/common/choose_plans.h"
#include "tools/common/text.h"

namespace coll::tools {
namespace {

using nlohmann::ordered_json;

struct ListOptions {
  std::string collective = "all";
  bool json = false;
};

ordered_json to_json(const algo::Algorithm& algorithm) {
  ordered_json out = {{"collective", plan::name(algorithm.collective)},
                      {"algorithm", algorithm.name},
                      {"summary", algorithm.summary},
                      {"source", algorithm.source},
                      {"parameters", tools::parameters_of(algorithm)}};
  if (is_reduction(algorithm.collective)) out["order"] = order_of(algorithm);
  if (algorithm.max_bytes != 0) out["max_bytes"] = algorithm.max_bytes;
  return out;
}

// Returns the text after the summary: "YHCCL 5.1; reads chunk, depth; operands: balanced; up to 256 KiB".
std::string details(const algo::Algorithm& algorithm) {
  std::vector<std::string> parts;
  if (auto names = tools::parameters_of(algorithm); !names.empty())
    parts.push_back(fmt::format("reads {}", fmt::join(names, ", ")));
  if (is_reduction(algorithm.collective)) parts.push_back("operands: " + order_of(algorithm));
  if (algorithm.max_bytes != 0) parts.push_back("up to " + bytes_text(algorithm.max_bytes));
  return fmt::format("{}{}{}", algorithm.source, parts.empty() ? "" : "; ", fmt::join(parts, "; "));
}

int list(const ListOptions& options) {
  std::vector<plan::Collective> wanted = parse_collectives(options.collective);
  ordered_json array = ordered_json::array();
  constexpr int indent = 32;
  for (plan::Collective collective : wanted) {
    if (!options.json) fmt::print("{}\n", plan::name(collective));
    for (const algo::Algorithm& algorithm : algo::algorithms()) {
      if (algorithm.collective != collective) continue;
      array.push_back(to_json(algorithm));
      if (options.json) continue;
      fmt::print("  {:<{}}{}\n", algorithm.name, indent - 2, wrapped(std::string(algorithm.summary), indent));
      fmt::print("{:{}}{}\n", "", indent, wrapped(details(algorithm), indent));
    }
  }
  if (options.json) fmt::print("{}\n", array.dump(2));
  return exit_fine;
}

}  // namespace

void add_list(Command& app, Action& action) {
  auto options = std::make_shared<ListOptions>();
  Command* sub = app.add_subcommand("list", "List the algorithms of each collective");
  sub->add_option("COLLECTIVE", options->collective, "list only the algorithms of this collective; default: all")
      ->option_text("  ");
  sub->add_flag("--json", options->json, "print the result as JSON");
  sub->footer(
      examples("  collctl list\n"
               "  collctl list bcast --json\n"
               "--algorithm of other subcommands and the variables COLL_BCAST, COLL_ALLREDUCE and so on accept\n"
               "a name, with parameters after a colon: COLL_BCAST=knomial:k=4,chunk=32K"));
  sub->callback([&action, options] { action = [options] { return list(*options); }; });
}

}  // namespace coll::tools
