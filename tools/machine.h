// SPDX-License-Identifier: BSD-3-Clause
// A machine by its name or file, with ranks on it: what explain and simulate ask questions about.
#pragma once

#include <string>

#include "model/table.h"
#include "topo/hierarchy.h"

namespace coll::tools {

struct ModelMachine {
  model::Table table;
  topo::Hierarchy hierarchy;
  // Where the table comes from, for people: "a built-in machine, not this one", "built-in defaults ...".
  std::string origin;
};

// `name`: a built-in machine, a file, or "" for the running one. Throws Failure for what cannot be read and usage for
// wrong words.
ModelMachine model_machine(const std::string& name, int ranks, const std::string& map_by,
                           const std::string& sensitivity);

// "arm-n1, broadwell, ..."
std::string known_machines();

}  // namespace coll::tools
