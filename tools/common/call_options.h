// SPDX-License-Identifier: BSD-3-Clause
// One call on one machine, as explain and simulate are asked about it.
#pragma once

#include <string>

#include "tools/command.h"
#include "tools/common/machine.h"

namespace coll::tools {

struct CallOptions {
  std::string collective, size, type = "float", machine, map_by = "core";
  std::string sensitivity = topo::Sensitivity::standard().text();
  int ranks = 0;
};

void add_call_options(Command& sub, CallOptions& options);

struct Call {
  plan::Collective collective = plan::Collective::barrier;
  size_t bytes = 0;  // of the vector, or of what one rank has for one other
  size_t element_bytes = 4;
};

// Throws usage() for words that are wrong.
Call parse_call(const CallOptions& options);
// Throws Failure for what cannot be read.
ModelMachine machine_of(const CallOptions& options);

}  // namespace coll::tools
