// SPDX-License-Identifier: BSD-3-Clause
#include "tools/common/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/config.h"
#include "mem/huge_pages.h"
#include "mem/processor.h"
#include "mem/shared_stores.h"
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

// Ranks that access all memory in place do not use kernel-assisted copies.
bool cma_works(const ModelMachine& machine) {
  if (machine.assumed.in_place) return false;
  if (machine.assumed.cma_times.has_value()) return *machine.assumed.cma_times < tune::no_copy;
  return machine.table.of(model::Mechanism::cma).available;
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
    const char* requested = config::value("COLL_TABLE");
    model::Found found =
        model::find_table(requested == nullptr ? "" : requested, config::table_directories(), layout.machine);
    // As coll_comm_create(), which refuses it.
    if (!found.found && requested != nullptr && *requested != 0 && std::string_view(requested) != "none")
      throw Failure("COLL_TABLE: " + found.remark);
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
    layout = lay_out(ranks, made.table.topology, map_by, sensitivity, "--machine: " + name + ": 'topology'");
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

tune::Situation layout_situation(const topo::Machine& machine, const topo::Hierarchy& hierarchy, bool running,
                                 plan::Collective collective, size_t bytes, size_t element_bytes) {
  const char* huge_pages = config::value("COLL_HUGE_PAGES");
  const bool may_be_huge = huge_pages == nullptr || std::string_view(huge_pages) != "off";
  return {.collective = collective,
          .bytes = bytes,
          .element_bytes = element_bytes,
          .ranks = hierarchy.ranks(),
          .levels = hierarchy.levels(),
          .oversubscribed = size_t(hierarchy.ranks()) > machine.pus.size(),
          .huge_pages = running && may_be_huge && mem::HugePages::are_to_be_had(),
          .rfo_free = (running || mem::forced_profile() != nullptr) && mem::has_rfo_free_stores(),
          .core_cache_bytes = machine.l2.size_bytes,
          .cache_bytes = topo::available_cache_bytes(machine, hierarchy.places()),
          .processor = machine.processor};
}

tune::Situation situation_on(const ModelMachine& machine, plan::Collective collective, size_t bytes,
                             size_t element_bytes) {
  const int ranks = machine.hierarchy.ranks();
  tune::Situation situation =
      layout_situation(machine.machine, machine.hierarchy, machine.running, collective, bytes, element_bytes);
  const Assumed& assumed = machine.assumed;
  situation.huge_pages |= assumed.huge_pages;
  situation.scheduler_groups = situation.oversubscribed && assumed.scheduler_groups;
  situation.in_place = assumed.in_place;
  situation.cma_works = cma_works(machine);
  situation.mapped = assumed.shared_heap && bytes >= tune::shared_heap_min_bytes;
  if (machine.from_table) {
    situation.huge_pages |= machine.table.huge_pages;
    situation.cache_bytes = model::available_cache_bytes(machine.table, ranks);
    situation.core_cache_bytes = machine.table.fingerprint.l2_bytes;
  }
  if (!situation.cma_works || ranks < 2) return situation;
  situation.cma_times = assumed.cma_times.has_value()
                            ? *assumed.cma_times
                            : model::times_of_staging(machine.table, machine.hierarchy, model::Mechanism::cma);
  situation.single_copy = situation.may_stage = situation.cma_times < 1;
  if (situation.single_copy) situation.cma_times = tune::no_copy;
  return situation;
}

std::string known_machines() { return fmt::format("{}", fmt::join(model::machine_names(), ", ")); }

}  // namespace coll::tools
