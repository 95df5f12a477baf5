// SPDX-License-Identifier: BSD-3-Clause
// What explain and report print of a priced algorithm.
#pragma once

#include <nlohmann/json.hpp>

#include "model/prices.h"

namespace coll::tools {

// As COLL_TRANSPORT and the other subcommands name it.
const char* transport_of(const model::Priced& priced);

// The parameters that the algorithm reads: {"k": 8, "chunk": 65536}.
nlohmann::ordered_json knobs_of(const model::Priced& priced);

}  // namespace coll::tools
