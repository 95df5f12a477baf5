// SPDX-License-Identifier: BSD-3-Clause
// What a communicator decides about one call on a machine of the model.
#pragma once

#include <optional>

#include "tools/common/machine.h"

namespace coll::tools {

struct Decision {
  model::Question question;
  model::Selection selected;  // its kernel_copies are also set if the transport leaves nothing else
  bool latency = false;       // the latency path serves blocking calls, with the same result
};

// `selector` is of the machine. `irregular`: a v-variant, whose blocks differ in size; `bytes` is then 0.
Decision decide(const ModelMachine& machine, model::Selector& selector, plan::Collective collective, size_t bytes,
                size_t element_bytes, bool irregular = false);

// The other candidate that auto-tuning times for blocking calls. Empty if such calls are not tuned.
std::optional<Decision> tuning_candidate(const ModelMachine& machine, const model::Selector& selector,
                                         const Decision& decision);

}  // namespace coll::tools
