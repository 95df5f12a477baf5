// SPDX-License-Identifier: BSD-3-Clause
#include "tools/common/choose_plans.h"

#include <fmt/format.h>

#include "mem/processor.h"
#include "tools/command.h"

namespace coll::tools {

std::vector<plan::Collective> parse_collectives(const std::string& text) {
  std::vector<plan::Collective> all;
  std::string known;
  for (int i = 0; i < plan::collectives; ++i) {
    const auto collective = plan::Collective(i);
    if (text == plan::name(collective)) return {collective};
    known += std::string(plan::name(collective)) + ", ";
    all.push_back(collective);
  }
  if (text == "all") return all;
  throw usage(fmt::format("unknown collective '{}'; use {}or all", text, known));
}

tune::Choice parse_algorithm(plan::Collective collective, const std::string& text) {
  tune::Choice choice;
  std::string problem = tune::parse_choice(collective, text, choice);
  if (!problem.empty()) throw usage(problem);
  return choice;
}

std::vector<size_t> uneven_blocks(const algo::Algorithm& algorithm, size_t count, int ranks, size_t element_bytes,
                                  std::string_view option, std::string_view size) {
  if (!algorithm.irregular)
    throw usage(
        fmt::format("{} {}: {} needs the same number of elements for each of {} ranks; use a multiple of {} bytes",
                    option, size, algorithm.name, ranks, size_t(ranks) * element_bytes));
  std::vector<size_t> blocks;
  for (size_t rank = 0; rank < size_t(ranks); ++rank)
    blocks.push_back(count / size_t(ranks) + (rank < count % size_t(ranks)));
  return blocks;
}

std::vector<std::string> parameters_of(const algo::Algorithm& algorithm) {
  std::vector<std::string> names;
  if (algorithm.reads.chunk || algorithm.reads.level_chunks) names.push_back("chunk");
  if (algorithm.reads.depth) names.push_back("depth");
  if (algorithm.reads.k) names.push_back("k");
  if (algorithm.reads.j) names.push_back("j");
  if (algorithm.reads.hierarchy) names.push_back("hierarchy");
  return names;
}

std::string order_of(const algo::Algorithm& algorithm) {
  if (!is_reduction(algorithm.collective)) return "";
  return algorithm.balanced ? order_balanced : order_any;
}

Layout lay_out(int ranks, const std::string& topology, const std::string& map_by, const std::string& sensitivity,
               const std::string& named) {
  if (const std::string wrong = mem::forced_profile_error(); !wrong.empty()) throw usage(wrong);
  Layout layout;
  topo::Mapping mapping = topo::Mapping::core;
  if (topo::Status status = topo::parse_mapping(map_by, mapping); !status.ok())
    throw usage("--map-by: " + status.text());
  topo::Sensitivity wanted = topo::Sensitivity::standard();
  if (topo::Status status = topo::Sensitivity::parse(sensitivity, wanted); !status.ok())
    throw usage("--" + status.text());  // the text begins with "sensitivity: "
  if (topo::Status status = wanted.check(ranks); !status.ok()) throw usage("--" + status.text());
  if (topo::Status status = topo::load(topology, layout.machine); !status.ok())
    throw Failure(named + ": " + status.text());
  layout.hierarchy = topo::Hierarchy::from_places(topo::map_ranks(layout.machine, ranks, mapping), wanted);
  return layout;
}

}  // namespace coll::tools
