// SPDX-License-Identifier: BSD-3-Clause
// Section 2: the selections of libcoll, their predicted times, and those of the alternatives.
#include <algorithm>

#include "coll/coll.h"
#include "model/fingerprint.h"
#include "model/prices.h"
#include "tools/common/text.h"
#include "tools/plan/explain_all.h"
#include "tools/plan/priced.h"
#include "tools/report/sections.h"
#include "tune/select.h"

namespace coll::tools::report {
namespace {

constexpr size_t smallest = 8, largest = size_t(64) << 20;
constexpr size_t most_others = 5;

// Returns startup, transfer, lock and flags.
ordered_json terms_of(const model::Terms& terms) {
  return {rounded(terms.startup_us), rounded(terms.transfer_us), rounded(terms.lock_us), rounded(terms.flags_us)};
}

// Returns why an alternative was not selected although its predicted time is lower; "" if it is not lower.
std::string why_not(const model::Priced& priced, const ordered_json& selected, const Decision& decision) {
  const tune::Situation& situation = decision.situation;
  const algo::Algorithm* algorithm = model::registered(*priced.row);
  if (!selected.is_object() || !(rounded(priced.terms.total_us()) < selected["us"].get<double>())) return "";
  if (algorithm == nullptr) return "not implemented";
  if (model::is_kernel_copy(priced.mechanism) && !situation.has_kernel_copies())
    return "kernel-assisted copies are not possible there";
  if (priced.mechanism == model::Mechanism::mapped && !situation.mapped)
    return "the price is for buffers in memory that all ranks map, which is not assumed here";
  if (!algorithm->balanced) return "combines operands in another order, so it is selected only by its name";
  if (algorithm->max_bytes != 0 && situation.bytes > algorithm->max_bytes) return "not meant for messages of this size";
  if (algorithm->stores_partials && situation.rounds_partials())
    return "stores partial results, which takes twice the data with 16-bit floats";
  switch (decision.selected.by) {
    case tune::Source::shipped: return "a built-in rule decides, from measurements; prices do not enter";
    case tune::Source::measured:
    case tune::Source::nearby: return "the table's calibration decides, from measurements; prices do not enter";
    case tune::Source::forced: return "a variable decides";
    case tune::Source::tuned: return "auto-tuning decides, from measurements";
    case tune::Source::priced:
      return "at the best setting of each the selected one is cheaper; its price here is for the setting that it runs "
             "with";
  }
  return "";
}

ordered_json other_of(const model::Priced& priced, const std::string& why) {
  ordered_json made = {{"algorithm", priced.row->algorithm}, {"parameters", knobs_of(priced)},
                       {"transport", transport_of(priced)},  {"us", rounded(priced.terms.total_us())},
                       {"terms", terms_of(priced.terms)},    {"has_plan", model::registered(*priced.row) != nullptr}};
  if (!why.empty()) made["why_not"] = why;
  return made;
}

}  // namespace

// Returns the predicted time of the selected algorithm with the parameters that it runs with.
ordered_json price_of(const ModelMachine& on, const Decision& decision) {
  const tune::Choice& choice = decision.selected.choice;
  if (choice.algorithm == nullptr) return nullptr;
  const model::Row* row = model::find_row(plan::name(decision.situation.collective), choice.algorithm->name);
  if (row == nullptr) return nullptr;
  const double bytes = double(decision.situation.bytes);
  const auto mechanism = choice.kernel_copies ? model::Mechanism::cma : model::Mechanism::shared_memory;
  const model::Setting setting(on.table, on.hierarchy, mechanism);
  model::Knobs knobs;
  if (row->reads.k) knobs.k = choice.parameters.k;
  if (row->reads.j) knobs.k = choice.parameters.j;
  if (row->reads.chunk && choice.parameters.chunk_bytes < bytes) knobs.chunk_bytes = choice.parameters.chunk_bytes;
  const model::Terms terms = model::cost(*row, setting, bytes, knobs);
  return {{"us", rounded(terms.total_us())}, {"terms", terms_of(terms)}};
}

namespace {

ordered_json cell_of(const ModelMachine& on, const Decision& decision, ordered_json& formulas) {
  const tune::Situation& situation = decision.situation;
  const std::string collective = plan::name(situation.collective);
  const tune::Choice& choice = decision.selected.choice;
  const std::string algorithm = choice.algorithm == nullptr ? "latency" : std::string(choice.algorithm->name);
  const ordered_json price = price_of(on, decision);
  ordered_json others = ordered_json::array();
  for (const model::Priced& priced : model::rank_choices(collective, on.table, on.hierarchy, double(situation.bytes))) {
    const std::string name = collective + "/" + std::string(priced.row->algorithm);
    if (!formulas.contains(name)) formulas[name] = {{"formula", priced.row->row}, {"source", priced.row->source}};
    if (priced.row->algorithm != algorithm && others.size() < most_others)
      others.push_back(other_of(priced, why_not(priced, price, decision)));
  }
  const model::Chosen* row = decision.selected.row;
  const std::vector<tune::Choice>& tuned = decision.selected.alternatives;
  return {{"collective", collective},
          {"bytes", situation.bytes},
          {"algorithm", algorithm},
          {"setting", tune::setting_text(choice)},
          {"kernel_copies", choice.kernel_copies},
          {"latency", decision.latency},
          {"non_temporal", choice.stream},
          {"decided_by", tune::source_text(decision.selected)},
          {"measured_us", row == nullptr ? 0 : rounded(row->measured_us)},
          {"price", price},
          {"tuning", tuned.empty() ? ordered_json() : ordered_json(tune::setting_text(tuned.front()))},
          {"others", others}};
}

}  // namespace

ordered_json choice_section(const ModelMachine& on, const std::string& type) {
  const size_t element_bytes = coll_datatype_size(parse_type(type));
  tune::Selector selector(on.chosen_by, on.hierarchy, model::hardware_of(on.machine));
  ordered_json cells = ordered_json::array(), formulas = ordered_json::object();
  const auto add = [&](plan::Collective collective, size_t bytes) {
    cells.push_back(cell_of(on, decide(on, selector, collective, bytes, element_bytes), formulas));
  };
  for (int c = 0; c < plan::collectives; ++c) {
    const auto collective = plan::Collective(c);
    if (collective == plan::Collective::barrier) add(collective, 0);
    else
      for (size_t bytes = smallest; bytes <= largest; bytes *= 2)
        if (bytes >= element_bytes) add(collective, bytes / element_bytes * element_bytes);
  }
  // explain_all() already words the facts that hold for all calls.
  const ordered_json all = ordered_json::parse(to_json_text(explain_all(on, type)));
  ordered_json situation = ordered_json::object();
  for (const auto& [key, value] : all.items())
    if (key != "choices") situation[key] = value;
  return {{"situation", situation}, {"formulas", formulas}, {"cells", cells}};
}

}  // namespace coll::tools::report
