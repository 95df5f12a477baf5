// SPDX-License-Identifier: BSD-3-Clause
// collctl explain --all: prints every decision in one situation, one per line, in a fixed order and format, for
// diff(1).
#pragma once

#include <string>
#include <vector>

#include "tools/plan/decision.h"

namespace coll::tools {

// All decisions for one machine, placement of ranks and datatype.
struct AllExplained {
  ModelMachine machine;
  std::string type;
  size_t element_bytes = 4;
  std::vector<Decision> decisions;  // by collective, then by size; a candidate of auto-tuning follows its default
};

AllExplained explain_all(ModelMachine machine, const std::string& type);

std::string to_text(const AllExplained& all);
std::string to_json_text(const AllExplained& all);

}  // namespace coll::tools
