// SPDX-License-Identifier: BSD-3-Clause
// Barriers.
#include "algo/common.h"
#include "algo/families.h"

namespace coll::algo {

bool always(const PlanRequest&) { return true; }
bool has_levels(const PlanRequest& request) { return !request.hierarchy->is_flat(); }

namespace {

Builder start_barrier(const char* name, const PlanRequest& request) {
  Builder b = start(Collective::barrier, name, request);
  b.synchronizing();
  return b;
}

// One hop: every rank waits for all other ranks.
Plan flat(const PlanRequest& request) {
  Builder b = start_barrier("flat", request);
  const uint16_t here = b.flag();
  for (int rank : b.ranks()) {
    LaneBuilder lane = b.lane(rank);
    lane.post(here, constant(1));
    wait_each(lane, all_but(request.hierarchy->ranks(), rank), here, constant(1));
  }
  return b.finish();
}

// After round t, counted from 1, a rank knows that the 2^t - 1 ranks before it have arrived. One flag serves all
// rounds, because its value increases.
Plan dissemination(const PlanRequest& request) {
  Builder b = start_barrier("dissemination", request);
  const int ranks = request.hierarchy->ranks();
  const uint16_t round = b.flag();
  for (int rank : b.ranks()) {
    LaneBuilder lane = b.lane(rank);
    int value = 1;
    for (int distance = 1; distance < ranks; distance *= 2, ++value)
      lane.post(round, constant(value)).wait((rank + ranks - distance) % ranks, round, constant(value));
  }
  return b.finish();
}

// Arrivals go up the hierarchy, and the release goes down.
Plan up_and_down(const char* name, const PlanRequest& request, const topo::Hierarchy& hierarchy) {
  Builder b = start_barrier(name, request);
  const topo::Tree tree = hierarchy.tree_for_root(request.root);
  const uint16_t arrived = b.flag(), released = b.flag();
  for (int rank : b.ranks()) {
    LaneBuilder lane = b.lane(rank);
    for (int level = 0; level < tree.levels_led(rank); ++level)
      wait_each(lane, tree.children(rank, level), arrived, constant(1));
    if (rank != tree.root()) lane.post(arrived, constant(1)).wait(tree.parent(rank), released, constant(1));
    if (tree.levels_led(rank) > 0) lane.post(released, constant(1));
  }
  return b.finish();
}

Plan hierarchical(const PlanRequest& request) { return up_and_down("hierarchical", request, *request.hierarchy); }
Plan grouped(const PlanRequest& request) {
  return up_and_down("grouped", request, topo::in_small_groups(*request.hierarchy, topo::Counted::ranks));
}

const Algorithm family[] = {
    {.collective = Collective::barrier,
     .name = "flat",
     .summary = "every rank waits for the flags of all others",
     .source = "XHC III-E for the flags",
     .applies = always,
     .make = flat},
    {.collective = Collective::barrier,
     .name = "dissemination",
     .summary = "log2 p rounds; all ranks do the same",
     .source = "Hensgen, Finkel and Manber 1988",
     .applies = always,
     .make = dissemination},
    {.collective = Collective::barrier,
     .name = "hierarchical",
     .summary = "arrivals go up the hierarchy, the release goes down",
     .source = "XHC III-A, III-E",
     .reads = {.hierarchy = true},
     .applies = has_levels,
     .make = hierarchical},
    {.collective = Collective::barrier,
     .name = "grouped",
     .summary = "as hierarchical, in groups of at most 16 ranks",
     .source = "this project, XHC III-A, III-E",
     .reads = {.hierarchy = true},
     .applies = has_small_groups,
     .make = grouped},
};

}  // namespace

std::span<const Algorithm> barrier_family() { return family; }

}  // namespace coll::algo
