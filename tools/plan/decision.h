// SPDX-License-Identifier: BSD-3-Clause
// The decision of a communicator about one call, on a machine of the model.
#pragma once

#include <vector>

#include "tools/common/machine.h"

namespace coll::tools {

struct Decision {
  tune::Situation situation;
  tune::Selection selected;  // kernel_copies is also set if the transport allows nothing else
  bool latency = false;      // the latency path serves blocking calls, with the same result
};

// `selector` belongs to the machine. `irregular`: a v-variant, whose blocks differ in size; `bytes` is then 0.
Decision decide(const ModelMachine& machine, tune::Selector& selector, plan::Collective collective, size_t bytes,
                size_t element_bytes, bool irregular = false);

// The other candidates that auto-tuning times for blocking calls.
std::vector<Decision> tuning_candidates(const ModelMachine& machine, const Decision& decision);

}  // namespace coll::tools
