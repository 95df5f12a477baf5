// SPDX-License-Identifier: BSD-3-Clause
// Options that several subcommands share: one call on one machine (explain, simulate), a machine, the placement of
// ranks.
#pragma once

#include <string>

#include "tools/command_line.h"
#include "tools/common/machine.h"

namespace coll::tools {

struct CallOptions {
  std::string collective, size, type = "float", machine, map_by = "core";
  std::string sensitivity = topo::Sensitivity::standard().text();
  int ranks = 0;
};

// Returns the option of the collective, so that a subcommand can require it.
Option* add_call_options(Command& sub, CallOptions& options);
// Adds --machine, whose value model_machine() reads.
void add_machine_option(Command& sub, std::string& machine);
// Adds --map-by and --sensitivity, whose values lay_out() reads.
void add_placement_options(Command& sub, std::string& map_by, std::string& sensitivity);

struct Call {
  plan::Collective collective = plan::Collective::barrier;
  size_t bytes = 0;  // of the vector, or of the block that one rank has for one other
  size_t element_bytes = 4;
};

// Throws usage() if an argument is wrong.
Call parse_call(const CallOptions& options);
// Throws Failure if the machine cannot be read.
ModelMachine machine_of(const CallOptions& options);

}  // namespace coll::tools
