// SPDX-License-Identifier: BSD-3-Clause
// Texts of a predicted algorithm, for explain and report.
#pragma once

#include <nlohmann/json.hpp>

#include "model/prices.h"

namespace coll::tools {

// Returns the name that COLL_TRANSPORT has for the transport.
const char* transport_of(const model::Priced& priced);

// Returns the parameters that the algorithm reads: {"k": 8, "chunk": 65536}.
nlohmann::ordered_json knobs_of(const model::Priced& priced);

}  // namespace coll::tools
