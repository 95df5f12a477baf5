// SPDX-License-Identifier: BSD-3-Clause
// The machines of an audit: those of the library's tables, and tables drawn at random.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/table.h"
#include "topo/hierarchy.h"

namespace coll::tools {

struct AuditedMachine {
  model::Table table;
  topo::Hierarchy hierarchy;
  std::vector<size_t> sizes;  // bytes of the vector or of a block
  std::string text() const;   // "epyc-2p, 64 ranks: ..."
};

// "all": the seven machines of more than two cores that papers describe; "random:SEED": `random_tables` tables drawn at
// random; otherwise one machine by its name or file. ranks = 0: as
// many as the papers use, or one on each core.
// Throws Failure or usage.
std::vector<AuditedMachine> audited_machines(const std::string& name, int ranks, int random_tables,
                                             const std::vector<size_t>& sizes);

}  // namespace coll::tools
