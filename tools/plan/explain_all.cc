// SPDX-License-Identifier: BSD-3-Clause
#include "tools/plan/explain_all.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "coll/coll.h"
#include "model/forced.h"
#include "tools/common/text.h"

namespace coll::tools {
namespace {

using nlohmann::ordered_json;

constexpr size_t kib = 1024, mib = 1024 * kib;
constexpr size_t sizes[] = {8, 64, kib, 4 * kib, 16 * kib, 64 * kib, 256 * kib, mib, 8 * mib, 64 * mib};

// Of blocks whose sizes differ: coll_gatherv() and the like, and coll_reduce_scatter().
bool has_variant(plan::Collective collective) {
  return plan::has_blocks(collective, plan::Buffer::send) || plan::has_blocks(collective, plan::Buffer::recv);
}

// How the plan's copies access the memory of peers, as COLL_TRANSPORT and the other subcommands name it.
const char* copies_of(const AllExplained& all, const Decision& decision) {
  if (decision.selected.choice.kernel_copies) return "cma";
  return decision.question.mapped || all.machine.assumed.in_place ? "mapped" : "shm";
}

std::string path_of(const AllExplained& all, const Decision& decision) {
  return fmt::format("{}{}{}", decision.latency ? "latency," : "", copies_of(all, decision),
                     decision.selected.choice.stream ? ",nt" : "");
}

const char* decider_of(const Decision& decision) {
  switch (decision.selected.by) {
    case model::Decider::measured: return "table";
    case model::Decider::nearby: return "nearby";
    case model::Decider::priced: return "prices";
    case model::Decider::builtin: return "default";
    case model::Decider::forced: return "forced";
    case model::Decider::tried: return "tuning";
  }
  return "?";
}

std::string size_of(const Decision& decision) {
  if (decision.question.collective == plan::Collective::barrier) return "-";
  return decision.question.irregular ? "varies" : bytes_text(decision.question.bytes);
}

// What holds for every call of the situation. Caches are the same in all questions; a large one is mapped if any is.
const model::Question& any_question(const AllExplained& all) { return all.decisions.front().question; }

std::string ranks_text(const AllExplained& all) {
  const model::Question& question = any_question(all);
  return topo::describe(all.machine.hierarchy) + (question.crowded ? ", oversubscribed" : "") +
         (question.groups_apart ? ", in different scheduler groups" : "");
}

std::string caches_text(const AllExplained& all) {
  const model::Question& question = any_question(all);
  const auto text = [](size_t bytes) { return bytes == 0 ? "unknown" : bytes_text(bytes); };
  return fmt::format("{} per core, {} for these ranks", text(question.core_cache_bytes), text(question.cache_bytes));
}

std::string transport_text(const AllExplained& all) {
  const model::Question& question = any_question(all);
  if (all.machine.assumed.in_place) return "peers access all buffers in place";
  if (question.kernel_copies) return "cma";
  if (question.kernel_times >= model::no_copy) return "staged; CMA is not available";
  return fmt::format("staged; CMA takes {:.2g} times as long", question.kernel_times);
}

std::string memory_text(const AllExplained& all) {
  const model::Question& question = any_question(all);
  return fmt::format("{} pages, {} heap, {}", question.huge_pages ? "huge" : "small",
                     all.machine.assumed.shared_heap ? "shared" : "private",
                     question.overwrites ? "rep movsb without read-for-ownership" : "ordinary stores");
}

ordered_json to_json(const AllExplained& all, const Decision& decision) {
  const model::Question& question = decision.question;
  const bool has_bytes = !question.irregular && question.collective != plan::Collective::barrier;
  return {{"collective", plan::name(question.collective)},
          {"bytes", has_bytes ? ordered_json(question.bytes) : ordered_json()},
          {"irregular", question.irregular},
          {"setting", model::setting_text(decision.selected.choice)},
          {"copies", copies_of(all, decision)},
          {"latency_path", decision.latency},
          {"non_temporal", decision.selected.choice.stream},
          {"decided_by", model::decider_text(decision.selected)}};
}

}  // namespace

AllExplained explain_all(ModelMachine machine, const std::string& type) {
  AllExplained all{.machine = std::move(machine), .type = type, .element_bytes = coll_datatype_size(parse_type(type))};
  model::Selector selector(all.machine.chosen_by, all.machine.hierarchy, circumstances_of(all.machine));
  const auto add = [&](plan::Collective collective, size_t bytes, bool irregular = false) {
    all.decisions.push_back(decide(all.machine, selector, collective, bytes, all.element_bytes, irregular));
    if (const auto other = tuning_candidate(all.machine, selector, all.decisions.back()))
      all.decisions.push_back(*other);
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
  // Columns of fixed width, so that one choice that changes changes one line.
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
        fmt::format("{:<14}  {:>7}  {:<7}  {:<11}  {}\n", plan::name(decision.question.collective), size_of(decision),
                    decider_of(decision), path_of(all, decision), model::setting_text(decision.selected.choice));
  return text;
}

std::string to_json_text(const AllExplained& all) {
  const model::Question& question = any_question(all);
  ordered_json choices = ordered_json::array();
  for (const Decision& decision : all.decisions) choices.push_back(to_json(all, decision));
  const ordered_json json = {{"machine", all.machine.table.name},
                             {"ranks", question.ranks},
                             {"hierarchy", topo::describe(all.machine.hierarchy)},
                             {"type", all.type},
                             {"oversubscribed", question.crowded},
                             {"scheduler_groups", question.groups_apart},
                             {"core_cache_bytes", question.core_cache_bytes},
                             {"cache_bytes", question.cache_bytes},
                             {"transport", transport_text(all)},
                             {"huge_pages", question.huge_pages},
                             {"shared_heap", all.machine.assumed.shared_heap},
                             {"rep_movsb", question.overwrites},
                             {"choices", choices}};
  return json.dump(2) + "\n";
}

}  // namespace coll::tools
