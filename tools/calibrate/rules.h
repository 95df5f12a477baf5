// SPDX-License-Identifier: BSD-3-Clause
// The rows of a table as a file of rules, which other machines with this processor can use.
#pragma once

#include <string>

#include "model/table.h"

namespace coll::tools {

// As lib/tune/rules.h reads it. For the numbers of ranks that were measured; it chooses as the table does.
std::string rules_text(const model::Table& table);

}  // namespace coll::tools
