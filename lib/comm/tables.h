// SPDX-License-Identifier: BSD-3-Clause
// The model table of a communicator: rank 0 finds it and broadcasts its text, so that all ranks have the same one. Each
// process caches it until the file changes, because a program may create thousands of communicators.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "model/table.h"
#include "topo/machine.h"

namespace coll::comm {

struct FoundTable {
  std::string text;  // from model::write_table(); "" without a table
  std::shared_ptr<const model::Table> table;
  std::string remark;  // as in model::Found
};

// Called by rank 0 with the value of COLL_TABLE. Never returns null. Thread-safe.
std::shared_ptr<const FoundTable> find_table(const std::string& wish, const topo::Machine& machine);

// Parses the text of rank 0. Returns null if it is invalid. Thread-safe.
std::shared_ptr<const model::Table> table_of(std::string_view text);

}  // namespace coll::comm
