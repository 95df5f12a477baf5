// SPDX-License-Identifier: BSD-3-Clause
// Section 1: the places of cores and ranks, and the costs in the model's table.
#include <algorithm>
#include <array>

#include "model/machines.h"
#include "model/table.h"
#include "model/table_json.h"
#include "tools/report/sections.h"

namespace coll::tools::report {
namespace {

using Present = std::array<bool, topo::distance_count>;

// The distances that occur between two processing units.
Present distances_of(const topo::Machine& machine) {
  Present present{};
  for (const topo::Place& a : machine.pus)
    for (const topo::Place& b : machine.pus)
      if (&a != &b) present[size_t(topo::distance(a, b))] = true;
  return present;
}

ordered_json by_distance(const model::ByDistance& values, const Present& present) {
  ordered_json out = ordered_json::object();
  for (size_t i = 0; i < present.size(); ++i)
    if (present[i] && values.at[i] > 0) out[topo::distance_name(topo::Distance(i))] = rounded(values.at[i]);
  return out;
}

ordered_json gamma_of(const model::Gamma& gamma) {
  return {{"quadratic", gamma.quadratic},
          {"linear", gamma.linear},
          {"across", gamma.across},
          {"residual", rounded(gamma.residual)}};
}

ordered_json cache_of(const topo::Cache& cache) {
  return {{"bytes", cache.size_bytes}, {"instances", cache.instances}};
}

ordered_json bandwidth_of(const model::Bandwidth& of) {
  return {{"alone_gbs", rounded(of.alone_gbs)}, {"all_gbs", rounded(of.all_gbs)}};
}

ordered_json access_of(const model::Table& table, const Present& present) {
  ordered_json out = ordered_json::array();
  for (model::Mechanism mechanism : model::all_mechanisms) {
    const model::Access& access = table.of(mechanism);
    if (!access.available) continue;
    out.push_back({{"mechanism", model::name(mechanism)},
                   {"startup_us", by_distance(access.startup_us, present)},
                   {"bandwidth_gbs", by_distance(access.bandwidth_gbs, present)},
                   {"page_us", rounded(access.page_us)},
                   {"page_bytes", access.page_bytes},
                   {"gamma", gamma_of(access.gamma)}});
  }
  return out;
}

ordered_json footprints_of(const model::Table& table) {
  ordered_json out = ordered_json::array();
  for (const model::CacheRates& at : table.caches)
    out.push_back({{"bytes", at.bytes},
                   {"load_gbs", rounded(at.load_gbs)},
                   {"store_gbs", rounded(at.store_gbs)},
                   {"fetch_gbs", rounded(at.fetch_gbs)},
                   {"take_gbs", rounded(at.take_gbs)},
                   {"kernel_gbs", rounded(at.kernel_gbs)}});
  return out;
}

ordered_json levels_of(const topo::Hierarchy& hierarchy) {
  ordered_json out = ordered_json::array();
  for (int level = 0; level < hierarchy.levels(); ++level)
    out.push_back({{"name", hierarchy.level_name(level)}, {"groups", hierarchy.groups(level)}});
  return out;
}

}  // namespace

ordered_json machine_section(const ModelMachine& on) {
  const topo::Machine& machine = on.machine;
  const model::Table& table = on.table;
  const Present present = distances_of(machine);
  ordered_json places = ordered_json::array(), ranks = ordered_json::array(), notes = ordered_json::array();
  for (const topo::Place& at : machine.pus) places.push_back({at.package, at.numa, at.l3, at.l2, at.core, at.pu});
  for (const topo::Place& at : on.hierarchy.places()) {
    const auto found = std::ranges::find(machine.pus, at);
    ranks.push_back(found == machine.pus.end() ? -1 : int(found - machine.pus.begin()));
  }
  for (const auto& [about, text] : table.notes) notes.push_back({{"about", about}, {"text", text}});
  topo::Cache l2 = machine.l2, l3 = machine.l3;
  if (on.from_table) l2.size_bytes = table.fingerprint.l2_bytes, l3.size_bytes = table.fingerprint.l3_bytes;
  return {{"name", table.name},
          {"origin", on.origin},
          {"description", table.description},
          {"date", table.date},
          {"processor", on.from_table ? table.fingerprint.processor : machine.processor},
          {"summary", topo::describe(machine)},
          {"note", machine.note},
          {"caches", {{"l1d", cache_of(machine.l1d)}, {"l2", cache_of(l2)}, {"l3", cache_of(l3)}}},
          {"places", places},
          {"ranks", ranks},
          {"hierarchy", topo::describe(on.hierarchy)},
          {"levels", levels_of(on.hierarchy)},
          {"flag_ns", by_distance(table.flag_ns, present)},
          {"access", access_of(table, present)},
          {"copy", bandwidth_of(table.copy)},
          {"copy_non_temporal", bandwidth_of(table.copy_non_temporal)},
          {"reduce", bandwidth_of(table.reduce)},
          {"links", model::links_as_json(table.links)},
          {"footprints", footprints_of(table)},
          {"notes", notes}};
}

ordered_json papers() {
  ordered_json out = ordered_json::array();
  for (const std::string& name : model::machine_names()) {
    model::Table table;
    if (!model::find_machine(name, table).ok()) continue;
    const model::Access& cma = table.of(model::Mechanism::cma);
    // Tables without this note only estimate the contention of CMA.
    if (std::ranges::none_of(table.notes, [](const auto& note) { return note.first == "cma"; })) continue;
    out.push_back({{"machine", name},
                   {"description", table.description},
                   {"cores", table.fingerprint.cores},
                   {"gamma", gamma_of(cma.gamma)}});
  }
  return out;
}

}  // namespace coll::tools::report
