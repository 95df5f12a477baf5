// SPDX-License-Identifier: BSD-3-Clause
// Runs a named plan in virtual time on a named machine.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "algo/registry.h"
#include "model/machines.h"
#include "sim/simulate.h"

namespace coll::sim::testing {

struct Machine {
  model::Table table;
  topo::Hierarchy hierarchy;

  explicit Machine(const std::string& name, int ranks = 0) {
    const topo::Status found = model::find_machine(name, table);
    EXPECT_TRUE(found.ok()) << found.text();
    place(ranks);
  }
  // Ranks on consecutive cores; 0: one on each.
  void place(int ranks) {
    topo::Machine described;
    const topo::Status loaded = topo::load_synthetic(table.topology, described);
    EXPECT_TRUE(loaded.ok()) << loaded.text();
    hierarchy = topo::Hierarchy::from_places(
        topo::map_ranks(described, ranks == 0 ? described.cores : ranks, topo::Mapping::core));
  }
  int ranks() const { return hierarchy.ranks(); }
};

inline plan::Plan plan_of(const Machine& on, plan::Collective collective, const char* algorithm,
                          const algo::Parameters& parameters = {}, int root = 0) {
  return algo::find(collective, algorithm)->make({.hierarchy = &on.hierarchy, .root = root, .parameters = parameters});
}

inline Result run_of(const Machine& on, const plan::Plan& plan, size_t bytes, const Options& options = {}) {
  Result run = simulate(plan, plan::Shape(bytes), 1, on.hierarchy, on.table, options);
  EXPECT_EQ(run.problem, "") << plan.algorithm;
  return run;
}

}  // namespace coll::sim::testing
