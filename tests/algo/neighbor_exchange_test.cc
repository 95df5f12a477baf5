// SPDX-License-Identifier: BSD-3-Clause
// The plan twin of the sparse exchange is correct for random graphs, and a rank's program grows with its neighbours
// only.
#include "algo/neighbor_exchange.h"

#include <gtest/gtest.h>

#include <random>

#include "../seed.h"
#include "plan/check.h"
#include "plan/verify.h"

namespace coll::algo {
namespace {

using plan::Kind;
using plan::Plan;
using plan::Step;
using plan::Verdict;
using plan::VerifyOptions;

using Graph = std::vector<std::vector<int>>;

Plan make(const Graph& graph, int only_rank = -1) {
  const topo::Hierarchy hierarchy = topo::Hierarchy::flat(int(graph.size()));
  PlanRequest request{.hierarchy = &hierarchy, .parameters = {.chunk_bytes = 256, .depth = 2}};
  request.only_rank = only_rank;
  return neighbor_exchange(request, graph);
}

Graph random_graph(int ranks, int in_a_hundred, std::mt19937_64& random) {
  Graph graph(static_cast<size_t>(ranks));
  for (auto& receivers : graph)
    for (int peer = 0; peer < ranks; ++peer)
      if (int(random() % 100) < in_a_hundred) receivers.push_back(peer);
  return graph;
}

// Elements have 64 bytes, so four fill a chunk.
VerifyOptions lengths(const Graph& graph, std::mt19937_64& random) {
  const size_t ranks = graph.size();
  VerifyOptions options;
  options.pieces.assign(ranks * ranks, 0);
  for (size_t r = 0; r < ranks; ++r)
    for (int peer : graph[r]) options.pieces[r * ranks + size_t(peer)] = random() % 24;
  options.seed = random();
  return options;
}

// Each rank exchanges with its four nearest ranks on both sides of a ring.
Graph ring(int ranks) {
  Graph graph(static_cast<size_t>(ranks));
  for (int r = 0; r < ranks; ++r)
    for (int step : {1, 2, ranks - 2, ranks - 1}) graph[size_t(r)].push_back((r + step) % ranks);
  return graph;
}

TEST(NeighborExchange, IsRightForRandomGraphs) {
  std::mt19937_64 random(test::seed());
  for (int ranks : {1, 2, 3, 5, 8, 17})
    for (int in_a_hundred : {0, 20, 60, 100}) {
      const Graph graph = random_graph(ranks, in_a_hundred, random);
      const Plan plan = make(graph);
      EXPECT_EQ(plan::check_form(plan), "");
      const Verdict verdict = plan::verify(plan, lengths(graph, random));
      EXPECT_TRUE(verdict.ok) << ranks << " ranks, " << in_a_hundred << " %: " << verdict.problem;
    }
}

// Without one of its waits the verifier refuses the plan: each wait is needed.
TEST(NeighborExchange, NeedsEachOfItsWaits) {
  std::mt19937_64 random(test::seed());
  const Graph graph = ring(6);
  VerifyOptions options;
  options.pieces.assign(36, 0);
  for (size_t r = 0; r < 6; ++r)
    for (int peer : graph[r]) options.pieces[r * 6 + size_t(peer)] = 23;
  const Plan whole = make(graph);
  ASSERT_TRUE(plan::verify(whole, options).ok) << plan::verify(whole, options).problem;
  int left_out = 0;
  for (size_t l = 0; l < whole.programs[2].lanes.size(); ++l)
    for (size_t s = 0; s < whole.programs[2].lanes[l].steps.size(); ++s) {
      const Step& step = whole.programs[2].lanes[l].steps[s];
      if (step.kind != Kind::wait || step.rank == 2)
        continue;  // the wait for the rank's own table orders two of its lanes
      Plan plan = whole;
      plan.programs[2].lanes[l].steps[s].value = -1000;  // is satisfied at once
      plan.programs[2].lanes[l].steps[s].add = plan::Add::nothing;
      EXPECT_FALSE(plan::verify(plan, options).ok) << "lane " << l << " step " << s;
      left_out++;
    }
  EXPECT_GE(left_out, 12);
}

TEST(NeighborExchange, GrowsWithNeighborsNotWithRanks) {
  const auto steps = [](int ranks) {
    const Plan plan = make(ring(ranks), 7);
    size_t steps = 0;
    for (const plan::Lane& lane : plan.program(7).lanes) steps += lane.steps.size();
    return steps;
  };
  EXPECT_EQ(steps(16), steps(256));
  EXPECT_EQ(make(ring(256), 7).ranges.size(), make(ring(16), 7).ranges.size());
}

}  // namespace
}  // namespace coll::algo
