// SPDX-License-Identifier: BSD-3-Clause
// A machine by its name or file, with ranks on it: what explain and simulate ask questions about.
#pragma once

#include <memory>
#include <string>

#include "model/table.h"
#include "tools/common/assumed.h"
#include "topo/hierarchy.h"
#include "topo/machine.h"
#include "tune/select.h"

namespace coll::tools {

struct ModelMachine {
  model::Table table;  // what to price with
  // The table of communicators there; null: the built-in rules alone.
  std::shared_ptr<const model::Table> chosen_by;
  topo::Machine machine;
  bool running = false;     // it is the one that this runs on
  bool from_table = false;  // `machine` is a table's topology, without caches
  Assumed assumed;
  topo::Hierarchy hierarchy;
  // Where the table comes from, for people: "a built-in machine, not this one", "built-in defaults ...".
  std::string origin;
};

// `name`: a built-in machine, a file, or "" for the one that `topology` names as COLL_TOPOLOGY does, with the table that its
// communicators find. Throws Failure for what cannot be read and usage for wrong words.
ModelMachine model_machine(const std::string& name, int ranks, const std::string& map_by,
                           const std::string& sensitivity, const std::string& topology = "native");

// The machine as communicators see it: with the processor that COLL_CPU names.
void apply_forced_profile(topo::Machine& machine);

// What follows from the machine and its ranks alone, without a table: caches, sharing of cores, and for the `running` machine
// what its system and its processor do. Nothing about kernel copies.
tune::Situation layout_situation(const topo::Machine& machine, const topo::Hierarchy& hierarchy, bool running,
                                 plan::Collective collective, size_t bytes, size_t element_bytes);

// What a communicator of processes asks there, as the machine and what is assumed tell. Whether kernel copies are possible,
// and the rule: as assumed, else as its own trial of a copy of 256 KiB would find by the table.
tune::Situation situation_on(const ModelMachine& machine, plan::Collective collective, size_t bytes,
                             size_t element_bytes);

// "arm-n1, broadwell, ..."
std::string known_machines();

}  // namespace coll::tools
