// SPDX-License-Identifier: BSD-3-Clause
// Machines and requests that the tests of the algorithms share.
#pragma once

#include <string>
#include <vector>

#include "algo/registry.h"
#include "plan/verify.h"

namespace coll::algo::testing {

// Returns ranks on a machine of sockets x NUMA nodes per socket x cores, mapped by core or round-robin over the NUMA
// nodes, or from the last NUMA node to the first.
inline topo::Hierarchy machine(int ranks, int sockets, int numas, int cores, bool by_numa = false,
                               bool mirrored = false) {
  std::vector<topo::Place> places(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    int numa = by_numa ? rank % (sockets * numas) : rank / cores % (sockets * numas);
    if (mirrored) numa = sockets * numas - 1 - numa;
    const int core = by_numa ? rank / (sockets * numas) : rank % cores;
    topo::Place& place = places[static_cast<size_t>(rank)];
    place.package = numa / numas;
    place.numa = numa;
    place.core = place.pu = place.l2 = numa * cores + core;
  }
  return topo::Hierarchy::from_places(std::move(places));
}

// Small chunks: a few elements, which are cache lines in these tests, make several chunks.
inline Parameters small(uint32_t lines = 2, uint16_t depth = 2, uint16_t k = 2) {
  return {.chunk_bytes = lines * 64, .depth = depth, .k = k};
}

inline std::string label(const plan::Plan& plan, const plan::VerifyOptions& options) {
  return std::string(plan::name(plan.collective)) + " " + plan.algorithm + " (" + plan.parameters + "), " +
         std::to_string(plan.ranks) + " ranks, root " + std::to_string(plan.root) + ", count " +
         std::to_string(options.count) + (options.in_place ? ", in place" : "");
}

}  // namespace coll::algo::testing
