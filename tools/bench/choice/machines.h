// SPDX-License-Identifier: BSD-3-Clause
// The machines of an audit: those of the built-in tables, and tables drawn at random.
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
  std::vector<size_t> sizes;  // bytes of the vector, or of a block
  std::string text() const;   // "epyc-2p, 64 ranks: ..."
};

// Returns the machines of a name: "all" stands for the seven machines of more than two cores that papers describe,
// "random:SEED" for `random_tables` tables drawn at random (0: 20), and any other name for one machine or the file of a
// table. ranks = 0: as many ranks as the paper uses, or one on each core. Throws Failure or usage.
std::vector<AuditedMachine> audited_machines(const std::string& name, int ranks, int random_tables,
                                             const std::vector<size_t>& sizes);

}  // namespace coll::tools
