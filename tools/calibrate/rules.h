// SPDX-License-Identifier: BSD-3-Clause
// Writes the rows of a table as a file of rules, for other machines with this processor.
#pragma once

#include <string>

#include "model/table.h"

namespace coll::tools {

// The text has the format of lib/tune/rules.h. Its rules make the same choices as the table, for the measured numbers
// of ranks.
std::string rules_text(const model::Table& table);

}  // namespace coll::tools
