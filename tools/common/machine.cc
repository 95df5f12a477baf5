// SPDX-License-Identifier: BSD-3-Clause
#include "tools/common/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/config.h"
#include "mem/huge_pages.h"
#include "mem/processor.h"
#include "model/cost.h"
#include "model/fingerprint.h"
#include "model/machines.h"
#include "model/own_table.h"
#include "tools/command.h"
#include "tools/common/choose_plans.h"

namespace coll::tools {
namespace {

std::string described(const topo::Machine& machine) {
  const std::string& processor = machine.processor;
  return topo::describe(machine) + ", processor " + (processor.empty() ? "unknown" : processor);
}

// Ranks that access all memory in place have no use for kernel copies.
bool cma_works(const ModelMachine& machine) {
  if (machine.assumed.in_place) return false;
  if (machine.assumed.cma_times.has_value()) return *machine.assumed.cma_times < model::no_copy;
  return machine.table.of(model::Mechanism::cma).available;
}

// Of the copy that a communicator times.
double priced_cma_times(const ModelMachine& machine) {
  constexpr double trial_bytes = 256 << 10;
  const model::Setting on = model::Setting(machine.table, machine.hierarchy, model::Mechanism::cma)
                                .touching({2 * trial_bytes, 2 * trial_bytes, trial_bytes, 2 * trial_bytes});
  return on.copy(trial_bytes).total_us() / (1.25 * on.memcpy_us(trial_bytes));
}

}  // namespace

ModelMachine model_machine(const std::string& name, int ranks, const std::string& map_by,
                           const std::string& sensitivity, const std::string& topology) {
  ModelMachine made;
  Layout layout;
  made.from_table = !name.empty();
  if (name.empty()) {
    layout = lay_out(ranks, topology, map_by, sensitivity);
    apply_forced_profile(layout.machine);
    made.running = layout.machine.source == "native";
    const std::string which = made.running ? "this machine" : described(layout.machine);
    const char* wish = config::value("COLL_TABLE");
    model::Found found = model::find_table(wish == nullptr ? "" : wish, config::table_directories(), layout.machine);
    if (found.found) {
      made.table = std::move(found.table);
      made.chosen_by = std::make_shared<const model::Table>(made.table);
      made.origin = fmt::format("{}, with the table {}{}", which, found.path,
                                made.table.date.empty() ? "" : " of " + made.table.date);
    } else {
      made.table = model::builtin_table(model::fingerprint_of(layout.machine));
      made.origin = fmt::format("{}, with the built-in table '{}'{}", which, made.table.name,
                                made.running ? "; it was not measured (run collctl calibrate)" : "");
    }
    if (!found.remark.empty()) made.origin += "; " + found.remark;
  } else {
    if (topo::Status status = model::find_machine(name, made.table); !status.ok())
      throw Failure("--machine: " + status.text());
    layout = lay_out(ranks, made.table.topology, map_by, sensitivity);
    topo::Machine native;
    const bool loaded = topo::load_native(native).ok();
    apply_forced_profile(native);
    made.running = loaded && model::difference(made.table.fingerprint, model::fingerprint_of(native)).empty();
    made.origin =
        fmt::format("{}: {}{}", made.table.name, made.table.description, made.running ? "" : "; not this machine");
    made.chosen_by = std::make_shared<const model::Table>(made.table);
  }
  made.machine = layout.machine;
  made.hierarchy = layout.hierarchy;
  return made;
}

void apply_forced_profile(topo::Machine& machine) {
  mem::apply_forced_profile(machine.processor, machine.l2.size_bytes);
}

model::Question question_on(const topo::Machine& machine, const topo::Hierarchy& hierarchy, bool running,
                            plan::Collective collective, size_t bytes, size_t element_bytes) {
  const char* huge_pages = config::value("COLL_HUGE_PAGES");
  const bool may_be_huge = huge_pages == nullptr || std::string_view(huge_pages) != "off";
  return {.collective = collective,
          .bytes = bytes,
          .element_bytes = element_bytes,
          .ranks = hierarchy.ranks(),
          .levels = hierarchy.levels(),
          .crowded = size_t(hierarchy.ranks()) > machine.pus.size(),
          .huge_pages = running && may_be_huge && mem::HugePages::are_to_be_had(),
          .cache_bytes = topo::available_cache_bytes(machine, hierarchy.places()),
          .core_cache_bytes = machine.l2.size_bytes,
          .overwrites = (running || mem::forced_profile() != nullptr) && mem::processor().strings_overwrite()};
}

model::Question question_of(const ModelMachine& machine, plan::Collective collective, size_t bytes,
                            size_t element_bytes) {
  const int ranks = machine.hierarchy.ranks();
  model::Question question =
      question_on(machine.machine, machine.hierarchy, machine.running, collective, bytes, element_bytes);
  const Assumed& assumed = machine.assumed;
  question.huge_pages |= assumed.huge_pages;
  question.groups_apart = question.crowded && assumed.scheduler_groups;
  question.mapped = assumed.shared_heap && bytes >= model::shared_heap_min_bytes;
  if (machine.from_table) {
    question.cache_bytes = model::available_cache_bytes(machine.table, ranks);
    question.core_cache_bytes = machine.table.fingerprint.l2_bytes;
  }
  if (!cma_works(machine) || ranks < 2) return question;
  question.kernel_times = assumed.cma_times.has_value() ? *assumed.cma_times : priced_cma_times(machine);
  question.kernel_copies = question.kernel_times < 1;
  if (question.kernel_copies) question.kernel_times = model::no_copy;
  return question;
}

model::Circumstances circumstances_of(const ModelMachine& machine) {
  return {.family = &model::family_of(machine.machine.processor),
          .mapped = machine.assumed.in_place,
          .kernel_works = cma_works(machine)};
}

std::string known_machines() { return fmt::format("{}", fmt::join(model::machine_names(), ", ")); }

}  // namespace coll::tools
