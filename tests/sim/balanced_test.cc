// SPDX-License-Identifier: BSD-3-Clause
// The cost of the balanced order in virtual time: compares, for every reduction, size, machine and transport, the best
// algorithm with the balanced order with the best of all registered ones, each with its best chunk and radix.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <initializer_list>

#include "plan/verify.h"
#include "virtual_runs.h"

namespace coll::sim {
namespace {

using plan::AccessMode;
using plan::Collective;
using testing::Machine;

constexpr size_t kib = 1024, mib = 1024 * kib;

struct Node {
  const char* machine;
  int ranks;
  AccessMode access;
};

class Balanced : public ::testing::TestWithParam<Node> {
 protected:
  Balanced() : on_(GetParam().machine, GetParam().ranks) {}

  // "" if the table of the machine has the transport; else why not.
  std::string missing_transport() const {
    const plan::Plan plan = plan_of(on_, Collective::reduce, "flat");
    return simulate(plan, plan::Shape(1), sizeof(float), on_.hierarchy, on_.table, {.access = GetParam().access})
        .problem;
  }
  // Time of one algorithm. Elements are floats.
  double best_us(const algo::Algorithm& algorithm, size_t bytes) const {
    const size_t count = bytes / sizeof(float), ranks = size_t(on_.ranks());
    const bool scatters = algorithm.collective == Collective::reduce_scatter;
    std::vector<size_t> blocks;
    for (size_t rank = 0; scatters && count % ranks != 0 && rank < ranks; ++rank)
      blocks.push_back(count / ranks + (rank < count % ranks));
    if (!blocks.empty() && !algorithm.irregular) return 1e30;
    double best = 1e30;
    for (size_t chunk : {4 * kib, 32 * kib, 256 * kib, 1 * mib}) {
      if (bytes / chunk > 128) continue;  // its flags alone make it slow
      for (uint16_t k : {1, 3, 7, 15}) {
        const plan::Plan plan = algorithm.make({.hierarchy = &on_.hierarchy,
                                                .irregular = !blocks.empty(),
                                                .parameters = {.chunk_bytes = uint32_t(chunk), .depth = 4, .k = k}});
        const plan::Shape shape = plan::shape_of(plan, scatters ? count / ranks : count, blocks);
        const Result run =
            simulate(plan, shape, sizeof(float), on_.hierarchy, on_.table, {.access = GetParam().access});
        EXPECT_EQ(run.problem, "") << algorithm.name;
        EXPECT_GT(run.end_us, 0) << algorithm.name;
        best = std::min(best, run.end_us);
        if (!algorithm.reads.k) break;
      }
      if (chunk >= bytes) break;
    }
    return best;
  }

  // Ratio of all cells, as their geometric mean.
  void compare(std::initializer_list<Collective> collectives, std::initializer_list<size_t> sizes) const;

  const Machine on_;
};

constexpr double most = 1.15, most_mean = 1.05;

void Balanced::compare(std::initializer_list<Collective> collectives, std::initializer_list<size_t> sizes) const {
  if (const std::string missing = missing_transport(); !missing.empty()) GTEST_SKIP() << missing;
  double logs = 0;
  for (Collective collective : collectives)
    for (size_t bytes : sizes) {
      double best = 1e30, best_balanced = 1e30;
      std::string_view name, balanced_name;
      for (const algo::Algorithm& algorithm : algo::algorithms()) {
        if (algorithm.collective != collective) continue;
        const double us = best_us(algorithm, bytes);
        if (us < best) best = us, name = algorithm.name;
        if (algorithm.balanced && us < best_balanced) best_balanced = us, balanced_name = algorithm.name;
      }
      const double ratio = best_balanced / best;
      std::printf("%-14s %8zu B: %-22s %10.2f us, balanced %-22s %10.2f us, ratio %.3f\n", plan::name(collective),
                  bytes, name.data(), best, balanced_name.data(), best_balanced, ratio);
      EXPECT_LE(ratio, most) << plan::name(collective) << " " << bytes;
      logs += std::log(ratio);
    }
  const size_t cells = collectives.size() * sizes.size();
  std::printf("geometric mean of %zu cells: %.3f\n", cells, std::exp(logs / double(cells)));
  EXPECT_LE(std::exp(logs / double(cells)), most_mean);
}

TEST_P(Balanced, IsNearTheBestOfAllAlgorithms) {
  compare({Collective::reduce, Collective::allreduce, Collective::reduce_scatter},
          {64, 1 * kib, 16 * kib, 128 * kib, 1 * mib, 8 * mib});
}

// The cells in which movement avoiding, which cannot keep the order, is nearest.
using BalancedOfManyRanks = Balanced;
TEST_P(BalancedOfManyRanks, IsNearTheBestForLongReduces) { compare({Collective::reduce}, {128 * kib, 1 * mib}); }

std::vector<Node> nodes() {
  const std::pair<const char*, int> machines[] = {{"epyc-1p", 32},   {"epyc-2p", 64}, {"arm-n1", 160}, {"knl", 64},
                                                  {"broadwell", 28}, {"nodea", 64},   {"nodeb", 48}};
  std::vector<Node> made;
  for (const auto& [machine, ranks] : machines)
    for (AccessMode access : {AccessMode::staged, AccessMode::remote, AccessMode::direct})
      made.push_back({machine, ranks, access});
  return made;
}

std::string name_of(const ::testing::TestParamInfo<Node>& info) {
  std::string name = info.param.machine;
  std::erase(name, '-');
  return name + "_" + plan::name(info.param.access);
}

INSTANTIATE_TEST_SUITE_P(Nodes, Balanced, ::testing::ValuesIn(nodes()), name_of);
INSTANTIATE_TEST_SUITE_P(Nodes, BalancedOfManyRanks,
                         ::testing::Values(Node{"arm-n1", 160, AccessMode::staged},
                                           Node{"arm-n1", 160, AccessMode::direct},
                                           Node{"epyc-2p", 64, AccessMode::staged}),
                         name_of);

}  // namespace
}  // namespace coll::sim
