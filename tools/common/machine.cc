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

ModelMachine model_machine(const std::string& name, int ranks, const std::string& map_by,
                           const std::string& sensitivity) {
  ModelMachine made;
  Layout layout;
  made.running = name.empty();
  if (made.running) {
    layout = lay_out(ranks, "native", map_by, sensitivity);
    apply_forced_profile(layout.machine);
    const char* wish = config::value("COLL_TABLE");
    model::Found found = model::find_table(wish == nullptr ? "" : wish, config::table_directories(), layout.machine);
    if (found.found) {
      made.table = std::move(found.table);
      made.chosen_by = std::make_shared<const model::Table>(made.table);
      made.origin = fmt::format("this machine, with the table {}{}", found.path,
                                made.table.date.empty() ? "" : " of " + made.table.date);
    } else {
      made.table = model::builtin_table(model::fingerprint_of(layout.machine));
      made.origin = fmt::format(
          "this machine, with the built-in table '{}'; it was not measured (run collctl calibrate)", made.table.name);
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
  constexpr double trial_bytes = 256 << 10;
  const int ranks = machine.hierarchy.ranks();
  model::Question question =
      question_on(machine.machine, machine.hierarchy, machine.running, collective, bytes, element_bytes);
  if (machine.machine.source != "native") {
    // The topology of a table tells nothing of caches.
    question.cache_bytes = model::available_cache_bytes(machine.table, ranks);
    question.core_cache_bytes = machine.table.fingerprint.l2_bytes;
  }
  if (!machine.table.of(model::Mechanism::cma).available || ranks < 2) return question;
  const model::Setting on = model::Setting(machine.table, machine.hierarchy, model::Mechanism::cma)
                                .touching({2 * trial_bytes, 2 * trial_bytes, trial_bytes, 2 * trial_bytes});
  const double kernel_us = on.copy(trial_bytes).total_us(), staged_us = 1.25 * on.memcpy_us(trial_bytes);
  question.kernel_copies = kernel_us < staged_us;
  if (!question.kernel_copies) question.kernel_times = kernel_us / staged_us;
  return question;
}

model::Circumstances circumstances_of(const ModelMachine& machine) {
  return {.family = &model::family_of(machine.machine.processor),
          .kernel_works = machine.table.of(model::Mechanism::cma).available};
}

std::string known_machines() { return fmt::format("{}", fmt::join(model::machine_names(), ", ")); }

}  // namespace coll::tools
