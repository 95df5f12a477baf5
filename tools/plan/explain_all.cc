// SPDX-License-Identifier: BSD-3-Clause
#include "tools/plan/explain_all.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "coll/coll.h"
#include "model/fingerprint.h"
#include "tools/common/text.h"
#include "tune/rules.h"

namespace coll::tools {
namespace {

using nlohmann::ordered_json;

constexpr size_t kib = 1024, mib = 1024 * kib;
constexpr size_t sizes[] = {8, 64, kib, 4 * kib, 16 * kib, 64 * kib, 256 * kib, mib, 8 * mib, 64 * mib};

// Returns whether the collective has a variant with blocks of different sizes: coll_gatherv(), coll_reduce_scatter()
// ...
bool has_variant(plan::Collective collective) {
  return plan::has_blocks(collective, plan::Buffer::send) || plan::has_blocks(collective, plan::Buffer::recv);
}

// Returns how the plan's copies access the memory of peers, as COLL_TRANSPORT names it.
const char* copies_of(const AllExplained& all, const Decision& decision) {
  if (decision.selected.choice.kernel_copies) return "cma";
  return decision.situation.mapped || all.machine.assumed.in_place ? "mapped" : "shm";
}

std::string path_of(const AllExplained& all, const Decision& decision) {
  return fmt::format("{}{}{}", decision.latency ? "latency," : "", copies_of(all, decision),
                     decision.selected.choice.stream ? ",nt" : "");
}

const char* decider_of(const Decision& decision) {
  switch (decision.selected.by) {
    case tune::Source::measured: return "table";
    case tune::Source::nearby: return "nearby";
    case tune::Source::priced: return "prices";
    case tune::Source::shipped: return "default";
    case tune::Source::forced: return "forced";
    case tune::Source::tuned: return "tuning";
  }
  return "?";
}

std::string size_of(const Decision& decision) {
  if (decision.situation.collective == plan::Collective::barrier) return "-";
  return decision.situation.irregular ? "varies" : bytes_text(decision.situation.bytes);
}

// The facts that hold for every call: all situations have the same ranks, caches and transports.
const tune::Situation& any_situation(const AllExplained& all) { return all.decisions.front().situation; }

std::string ranks_text(const AllExplained& all) {
  const tune::Situation& situation = any_situation(all);
  return topo::describe(all.machine.hierarchy) + (situation.oversubscribed ? ", oversubscribed" : "") +
         (situation.scheduler_groups ? ", in different scheduler groups" : "");
}

std::string caches_text(const AllExplained& all) {
  const tune::Situation& situation = any_situation(all);
  const auto text = [](size_t bytes) { return bytes == 0 ? "unknown" : bytes_text(bytes); };
  return fmt::format("{} per core, {} for these ranks", text(situation.core_cache_bytes), text(situation.cache_bytes));
}

std::string transport_text(const AllExplained& all) {
  const tune::Situation& situation = any_situation(all);
  if (all.machine.assumed.in_place) return "peers access all buffers in place";
  if (situation.single_copy) return "cma";
  if (situation.cma_times >= tune::no_copy) return "staged; CMA is not available";
  return fmt::format("staged; CMA takes {:.2g} times as long", situation.cma_times);
}

std::string memory_text(const AllExplained& all) {
  const tune::Situation& situation = any_situation(all);
  return fmt::format("{} pages, {} heap, {}", situation.huge_pages ? "huge" : "small",
                     all.machine.assumed.shared_heap ? "shared" : "private",
                     situation.rfo_free ? "rep movsb without read-for-ownership" : "ordinary stores");
}

ordered_json to_json(const AllExplained& all, const Decision& decision) {
  const tune::Situation& situation = decision.situation;
  const bool has_bytes = !situation.irregular && situation.collective != plan::Collective::barrier;
  return {{"collective", plan::name(situation.collective)},
          {"bytes", has_bytes ? ordered_json(situation.bytes) : ordered_json()},
          {"irregular", situation.irregular},
          {"setting", tune::setting_text(decision.selected.choice)},
          {"copies", copies_of(all, decision)},
          {"latency_path", decision.latency},
          {"non_temporal", decision.selected.choice.stream},
          {"decided_by", tune::source_text(decision.selected)}};
}

}  // namespace

AllExplained explain_all(ModelMachine machine, const std::string& type) {
  AllExplained all{.machine = std::move(machine), .type = type, .element_bytes = coll_datatype_size(parse_type(type))};
  tune::Selector selector(all.machine.chosen_by, all.machine.hierarchy, model::hardware_of(all.machine.machine));
  const auto add = [&](plan::Collective collective, size_t bytes, bool irregular = false) {
    all.decisions.push_back(decide(all.machine, selector, collective, bytes, all.element_bytes, irregular));
    for (Decision& other : tuning_candidates(all.machine, all.decisions.back()))
      all.decisions.push_back(std::move(other));
  };
  for (int c = 0; c < plan::collectives; ++c) {
    const auto collective = plan::Collective(c);
    if (collective == plan::Collective::barrier) {
      add(collective, 0);
      continue;
    }
    for (const size_t bytes : sizes)
      if (const size_t whole = bytes / all.element_bytes * all.element_bytes; whole > 0) add(collective, whole);
    if (has_variant(collective)) add(collective, 0, true);
  }
  return all;
}

std::string to_text(const AllExplained& all) {
  std::string text;
  // Columns have a fixed width, so that a changed choice changes one line only.
  constexpr int label = 11, columns = 100;
  for (const auto& [name, value] : {std::pair("machine", all.machine.origin),
                                    {"ranks", ranks_text(all)},
                                    {"caches", caches_text(all)},
                                    {"transport", transport_text(all)},
                                    {"memory", memory_text(all)},
                                    {"type", all.type}})
    text += fmt::format("{:<{}}{}\n", name, label, wrapped(value, label, columns));
  text += fmt::format("\n{:<14}  {:>7}  {:<7}  {:<11}  {}\n", "collective", "size", "by", "path", "algorithm");
  for (const Decision& decision : all.decisions)
    text +=
        fmt::format("{:<14}  {:>7}  {:<7}  {:<11}  {}\n", plan::name(decision.situation.collective), size_of(decision),
                    decider_of(decision), path_of(all, decision), tune::setting_text(decision.selected.choice));
  return text;
}

std::string to_json_text(const AllExplained& all) {
  const tune::Situation& situation = any_situation(all);
  ordered_json choices = ordered_json::array();
  for (const Decision& decision : all.decisions) choices.push_back(to_json(all, decision));
  const ordered_json json = {{"machine", all.machine.table.name},
                             {"ranks", situation.ranks},
                             {"hierarchy", topo::describe(all.machine.hierarchy)},
                             {"type", all.type},
                             {"oversubscribed", situation.oversubscribed},
                             {"scheduler_groups", situation.scheduler_groups},
                             {"core_cache_bytes", situation.core_cache_bytes},
                             {"cache_bytes", situation.cache_bytes},
                             {"transport", transport_text(all)},
                             {"huge_pages", situation.huge_pages},
                             {"shared_heap", all.machine.assumed.shared_heap},
                             {"rep_movsb", situation.rfo_free},
                             {"choices", choices}};
  return json.dump(2) + "\n";
}

}  // namespace coll::tools
