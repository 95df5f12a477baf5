// SPDX-License-Identifier: BSD-3-Clause
// The table of a communicator: rank 0 finds it and hands its text to the others, so that all have the same one. Kept per
// process as long as the file stays as it is, because a program may make thousands of communicators.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "model/table.h"
#include "topo/machine.h"

namespace coll::comm {

struct FoundTable {
  std::string text;  // as model::write_table() gives it; "" when there is none
  std::shared_ptr<const model::Table> table;
  std::string remark;  // as model::Found
};

// Rank 0's, for COLL_TABLE=`wish`. Never null. Thread-safe, as all of these.
std::shared_ptr<const FoundTable> find_table(const std::string& wish, const topo::Machine& machine);

// What rank 0 handed over. Null when it cannot be read.
std::shared_ptr<const model::Table> table_of(std::string_view text);

}  // namespace coll::comm
