// SPDX-License-Identifier: BSD-3-Clause
// Allgather: the family's entries, and the schedules of the algorithms in which pieces travel from rank to rank.
#include "algo/allgather.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

#include "algo/families.h"

namespace coll::algo {
namespace {

using plan::AccessMode;
using plan::Collective;
using plan::Plan;

// ---- ring_neighbor ------------------------------------------------------------------------------------------

// Each step of the ring has a flag of its own, so the number of flags bounds the length of the ring.
constexpr int longest_ring = 128;

bool is_a_ring(const PlanRequest& request) {
  const int ranks = request.hierarchy->ranks();
  return ranks == 1 || (ranks <= longest_ring && std::gcd(ranks, int(request.parameters.j)) == 1);
}

std::string stride_refused(const PlanRequest& request) {
  const int ranks = request.hierarchy->ranks(), j = request.parameters.j, divisor = std::gcd(ranks, j);
  if (ranks == 1 || divisor == 1) return "";
  return "with j=" + std::to_string(j) + " no piece reaches more than " + std::to_string(ranks / divisor) + " of " +
         std::to_string(ranks) + " ranks; choose a j without a divisor in common with the number of ranks";
}

// In step i every rank reads the piece of rank - i*j from rank - j.
Plan ring_neighbor(const PlanRequest& request) {
  const char* name = "ring_neighbor";
  const int ranks = request.hierarchy->ranks(), stride = request.parameters.j % ranks;
  if (!is_a_ring(request)) return source_read(request, name);
  const auto rank_of = [=](int number) { return (number % ranks + ranks) % ranks; };
  const auto fetches = [=](int rank) {
    std::vector<Fetch> made;
    for (int step = 1; step < ranks; ++step)
      made.push_back({.from = rank_of(rank - stride),
                      .stage = step - 1,
                      .pieces = {rank_of(rank - step * stride)},
                      .reaches = step + 1 < ranks ? step : 0});
    return made;
  };
  const auto readers = [=](int rank) { return std::vector<int>{rank_of(rank + stride)}; };
  return relay(
      request, name,
      {.stages = ranks - 1, .fetches = fetches, .readers = readers, .parameters = {{"j", int(request.parameters.j)}}});
}

// ---- recursive_doubling -------------------------------------------------------------------------------------

// In step i ranks at distance 2^i exchange all pieces that they have. Let c be the largest power of two up to p. Before
// step 0, rank r < p - c reads the piece of rank r + c; after the last step, rank r + c reads all pieces from rank r.
Plan recursive_doubling(const PlanRequest& request) {
  const int ranks = request.hierarchy->ranks(), cube = int(std::bit_floor(unsigned(ranks)));
  const int steps = std::bit_width(unsigned(cube)) - 1, complete = steps + 1;
  const auto folds = [=](int rank) { return rank + cube < ranks; };
  const auto fetches = [=](int rank) {
    std::vector<Fetch> made;
    const auto add = [&](int from, int stage, int low, int high, int reaches) {
      Fetch& fetch = made.emplace_back(Fetch{.from = from, .stage = stage, .pieces = {}, .reaches = reaches});
      for (int p = low; p < high; ++p) {
        fetch.pieces.push_back(p);
        if (stage > 0 && p < cube && folds(p)) fetch.pieces.push_back(p + cube);
      }
      std::erase(fetch.pieces, rank);
    };
    if (rank >= cube) {
      add(rank - cube, complete, 0, cube, 0);
      return made;
    }
    if (folds(rank)) add(rank + cube, 0, rank + cube, rank + cube + 1, 1);
    for (int step = 0; step < steps; ++step) {
      const int partner = rank ^ 1 << step, low = partner >> step << step;
      add(partner, step > 0 ? step + 1 : folds(partner) ? 1 : 0, low, low + (1 << step), step + 2);
    }
    made.back().reaches = folds(rank) ? complete : 0;
    return made;
  };
  const auto readers = [=](int rank) {
    std::vector<int> made;
    if (rank >= cube) return made.push_back(rank - cube), made;
    for (int step = 0; step < steps; ++step) made.push_back(rank ^ 1 << step);
    if (folds(rank)) made.push_back(rank + cube);
    return made;
  };
  return relay(request, "recursive_doubling", {.stages = complete + 1, .fetches = fetches, .readers = readers});
}

// ---- bruck --------------------------------------------------------------------------------------------------

// In step i every rank reads from rank + 2^i all pieces that this peer has, 2^i of them, or those still missing. Pieces
// go directly to their final places, so no shift is needed at the end.
Plan bruck(const PlanRequest& request) {
  const int ranks = request.hierarchy->ranks(), steps = std::bit_width(unsigned(ranks) - 1);
  const auto fetches = [=](int rank) {
    std::vector<Fetch> made;
    for (int step = 0, have = 1; step < steps; ++step, have *= 2) {
      Fetch& fetch = made.emplace_back(Fetch{
          .from = (rank + have) % ranks, .stage = step, .pieces = {}, .reaches = step + 1 < steps ? step + 1 : 0});
      for (int i = 0; i < std::min(have, ranks - have); ++i) fetch.pieces.push_back((rank + have + i) % ranks);
    }
    return made;
  };
  const auto readers = [=](int rank) {
    std::vector<int> made;
    for (int have = 1; have < ranks; have *= 2) made.push_back((rank - have + ranks) % ranks);
    return made;
  };
  return relay(request, "bruck", {.stages = steps, .fetches = fetches, .readers = readers});
}

// ---- hierarchical -------------------------------------------------------------------------------------------

// Leaders collect their groups' pieces, level by level; the leaders of the outermost groups exchange all that they
// have; every other rank reads the missing pieces from its leader. Thus a piece enters a group once, and leaves it once
// for every other group.
class ThroughLeaders {
 public:
  explicit ThroughLeaders(const topo::Hierarchy& hierarchy)
      : hierarchy_(hierarchy), tree_(hierarchy.tree_for_root(0)), top_(hierarchy.levels() - 1) {}

  int stages() const { return top_ + 2; }

  std::vector<Fetch> fetches(int rank) const {
    std::vector<Fetch> made;
    for (int level = 0; level < led(rank); ++level) {
      for (int child : tree_.children(rank, level)) made.push_back(all_of(child, level));
      if (!tree_.children(rank, level).empty()) made.back().reaches = level + 1;
    }
    if (in_top(rank)) {
      for (int peer : top_peers(rank)) made.push_back(all_of(peer, top_));
    } else {
      // First the rest of the group, then the pieces of all other groups.
      const int leader = tree_.parent(rank), level = led(rank);
      const std::vector<int> group = below(rank, level + 1), own = below(rank, level);
      made.push_back({.from = leader, .stage = level + 1, .pieces = without(group, own)});
      made.push_back({.from = leader, .stage = top_ + 1, .pieces = without(below(rank, top_ + 1), group)});
    }
    if (!made.empty()) made.back().reaches = top_ + 1;
    return made;
  }

  std::vector<int> readers(int rank) const {
    std::vector<int> made;
    for (int level = 0; level < led(rank); ++level)
      for (int child : tree_.children(rank, level)) made.push_back(child);
    if (!in_top(rank)) made.push_back(tree_.parent(rank));
    else
      for (int peer : top_peers(rank)) made.push_back(peer);
    return made;
  }

 private:
  bool in_top(int rank) const { return tree_.takes_part(rank, top_); }
  // The number of levels that the rank leads below the outermost one, which has no leader here.
  int led(int rank) const { return std::min(tree_.levels_led(rank), top_); }
  // The ranks, ascending, that a member of a group of that level represents. At the level beyond the last: all ranks.
  std::vector<int> below(int rank, int level) const {
    return level == 0 ? std::vector<int>{rank} : hierarchy_.ranks_of(level - 1, tree_.group_index(rank, level - 1));
  }
  // The fetch of all that a member has collected before it takes part in that level.
  Fetch all_of(int member, int level) const {
    int stage = level;
    while (stage > 0 && tree_.children(member, stage - 1).empty()) --stage;
    return {.from = member, .stage = stage, .pieces = below(member, level)};
  }
  // The list begins with the next member, so that not all members read from the same one at once.
  std::vector<int> top_peers(int rank) const {
    std::vector<int> members = tree_.group_of(rank, top_).members;
    std::rotate(members.begin(), std::ranges::find(members, rank), members.end());
    members.erase(members.begin());
    return members;
  }
  static std::vector<int> without(const std::vector<int>& all, const std::vector<int>& those) {
    std::vector<int> rest;
    std::ranges::set_difference(all, those, std::back_inserter(rest));
    return rest;
  }

  const topo::Hierarchy& hierarchy_;
  const topo::Tree tree_;
  const int top_;
};

Plan hierarchical(const PlanRequest& request) {
  const ThroughLeaders leaders(*request.hierarchy);
  return relay(request, "hierarchical",
               {.stages = leaders.stages(),
                .fetches = [&](int rank) { return leaders.fetches(rank); },
                .readers = [&](int rank) { return leaders.readers(rank); }});
}

Plan ring_source_read(const PlanRequest& request) { return source_read(request, "ring_source_read"); }

const Algorithm family[] = {
    {.collective = Collective::allgather,
     .name = "ring_source_read",
     .summary = "every rank reads every block from its source, beginning with its neighbour's",
     .source = "CMA V-A.2",
     .reads = {.chunk = true, .depth = true},
     .irregular = true,
     .described = AccessMode::remote,
     .applies = always,
     .make = ring_source_read},
    {.collective = Collective::allgather,
     .name = "ring_source_write",
     .summary = "every rank writes its block to every other rank, beginning with its neighbour",
     .source = "CMA V-A.2",
     .reads = {.chunk = true, .depth = true},
     .irregular = true,
     .described = AccessMode::remote,
     .applies = always,
     .make = ring_source_write},
    {.collective = Collective::allgather,
     .name = "ring_neighbor",
     .summary = "blocks go round a ring; every rank reads from the rank j before it",
     .source = "CMA V-A.1",
     .reads = {.chunk = true, .depth = true, .j = true},
     .irregular = true,
     .described = AccessMode::remote,
     .applies = is_a_ring,
     .refuses = stride_refused,
     .make = ring_neighbor},
    {.collective = Collective::allgather,
     .name = "recursive_doubling",
     .summary = "ranks at doubling distances exchange all blocks that they have",
     .source = "CMA V-A.3",
     .reads = {.chunk = true, .depth = true},
     .irregular = true,
     .described = AccessMode::remote,
     .applies = always,
     .make = recursive_doubling},
    {.collective = Collective::allgather,
     .name = "bruck",
     .summary = "every rank reads all blocks that ranks at doubling distances have",
     .source = "CMA V-A.4",
     .reads = {.chunk = true, .depth = true},
     .irregular = true,
     .described = AccessMode::remote,
     .applies = always,
     .make = bruck},
    {.collective = Collective::allgather,
     .name = "gather_bcast",
     .summary = "all ranks write to rank 0 and read from there",
     .source = "KNEM V-C",
     .reads = {.chunk = true, .depth = true},
     .irregular = true,
     .described = AccessMode::remote,
     .applies = always,
     .make = gather_bcast},
    {.collective = Collective::allgather,
     .name = "shm_pipelined",
     .summary = "every rank copies chunks into shared slots, all ranks copy them out",
     .source = "YHCCL Alg. 4",
     .reads = {.chunk = true, .depth = true},
     .irregular = true,
     .described = AccessMode::staged,
     .applies = always,
     .make = shm_pipelined_allgather},
    {.collective = Collective::allgather,
     .name = "hierarchical",
     .summary = "leaders collect the blocks of their groups, exchange them and pass them down",
     .source = "XHC III-A, KNEM IV",
     .reads = {.chunk = true, .depth = true, .hierarchy = true},
     .irregular = true,
     .applies = has_levels,
     .make = hierarchical},
    {.collective = Collective::allgather,
     .name = "grouped",
     .summary = "leaders pack the blocks of at most 16 ranks, all ranks read from all leaders",
     .source = "this project, XHC III-A",
     .reads = {.chunk = true, .depth = true, .hierarchy = true},
     .described = AccessMode::staged,
     .max_bytes = 16384,
     .applies = has_small_groups,
     .make = grouped_allgather},
};

}  // namespace

std::span<const Algorithm> allgather_family() { return family; }

}  // namespace coll::algo
