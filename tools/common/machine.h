// SPDX-License-Identifier: BSD-3-Clause
// A machine of the model, by name or file, with ranks placed on it; used by explain and simulate.
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
  model::Table table;  // for predictions
  // The table from which communicators choose there; null: they use the built-in rules.
  std::shared_ptr<const model::Table> chosen_by;
  topo::Machine machine;
  bool running = false;     // it is the machine on which collctl runs
  bool from_table = false;  // `machine` is the topology of a table, without caches
  Assumed assumed;
  topo::Hierarchy hierarchy;
  // Text for people about the origin of the table: "a built-in machine, not this one", "built-in defaults ...".
  std::string origin;
};

// `name`: a built-in machine or a file; "": the machine that `topology` describes (as COLL_TOPOLOGY does), with the
// table that communicators find for it. Throws Failure if something cannot be read, usage() if an argument is wrong.
ModelMachine model_machine(const std::string& name, int ranks, const std::string& map_by,
                           const std::string& sensitivity, const std::string& topology = "native");

// Replaces the processor by the one that COLL_CPU names, as communicators do.
void apply_forced_profile(topo::Machine& machine);

// Returns the part of the situation that follows from the machine and its ranks, without a table: caches,
// oversubscription, and, for the `running` machine, facts about its system and processor. Kernel-assisted copies are
// not set.
tune::Situation layout_situation(const topo::Machine& machine, const topo::Hierarchy& hierarchy, bool running,
                                 plan::Collective collective, size_t bytes, size_t element_bytes);

// Returns the situation that a communicator of processes would be in on this machine. Whether kernel-assisted copies
// are possible, and how fast they are, follows from `assumed`, else from the table, which replaces the measurement of a
// copy of 256 KiB at creation.
tune::Situation situation_on(const ModelMachine& machine, plan::Collective collective, size_t bytes,
                             size_t element_bytes);

// Returns "arm-n1, broadwell, ...".
std::string known_machines();

}  // namespace coll::tools
