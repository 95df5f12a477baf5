// SPDX-License-Identifier: BSD-3-Clause
// A machine by its name, with ranks on consecutive cores.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "model/machines.h"
#include "topo/hierarchy.h"

namespace coll::model::testing {

struct Placed {
  Table table;
  topo::Hierarchy hierarchy;

  Placed(const std::string& machine, int ranks) {
    const topo::Status found = find_machine(machine, table);
    EXPECT_TRUE(found.ok()) << found.text();
    topo::Machine described;
    const topo::Status loaded = topo::load_synthetic(table.topology, described);
    EXPECT_TRUE(loaded.ok()) << loaded.text();
    hierarchy = topo::Hierarchy::from_places(topo::map_ranks(described, ranks, topo::Mapping::core));
  }
};

}  // namespace coll::model::testing
