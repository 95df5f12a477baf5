// SPDX-License-Identifier: BSD-3-Clause
// Data access volumes, counted from the plans' steps, are those that the texts derive (YHCCL Tables 1 to 3).
#include <gtest/gtest.h>

#include "plan/count.h"
#include "requests.h"

namespace coll::algo {
namespace {

using plan::Access;
using plan::Collective;

// Odd on purpose: slices and chunks end anywhere, the volume does not change.
constexpr size_t count = 40009, element_bytes = 8, vector_bytes = count * element_bytes;

// In multiples of the vector; fails when it is not a whole number of them.
uint64_t volume(Collective collective, const char* name, const topo::Hierarchy& hierarchy, Access access,
                int root = 0) {
  const Algorithm* algorithm = find(collective, name);
  const plan::Plan plan = algorithm->make({.hierarchy = &hierarchy, .root = root, .parameters = {.chunk_bytes = 4096}});
  const plan::Counts counts = plan::count(plan, count, element_bytes, access);
  EXPECT_EQ(counts.problem, "") << name;
  EXPECT_EQ(counts.total.total() % vector_bytes, 0u) << name << " " << hierarchy.ranks() << " ranks";
  return counts.total.total() / vector_bytes;
}

std::vector<int> some_ranks() {
  std::vector<int> ranks;
  for (int p = 2; p <= 16; ++p) ranks.push_back(p);
  ranks.push_back(64);
  return ranks;
}

TEST(Volume, FusedMapped) {
  for (int p : some_ranks()) {
    const topo::Hierarchy flat = topo::Hierarchy::flat(p);
    EXPECT_EQ(volume(Collective::allreduce, "fused", flat, Access::mapped), 3u * p - 1) << p;
    EXPECT_EQ(volume(Collective::reduce, "fused", flat, Access::mapped, p - 1), p + 1u) << p;
  }
}

TEST(Volume, MovementAvoiding) {
  for (int p : some_ranks()) {
    const topo::Hierarchy flat = topo::Hierarchy::flat(p);
    EXPECT_EQ(volume(Collective::allreduce, "movement_avoiding", flat, Access::shm), 5u * p - 1) << p;
    EXPECT_EQ(volume(Collective::reduce, "movement_avoiding", flat, Access::shm, p / 2), 3u * p + 1) << p;
  }
}

TEST(Volume, MovementAvoidingSocketAware) {
  for (int m : {1, 2, 3, 4}) {
    int machines = 0;
    for (int p : some_ranks()) {
      // One NUMA node per socket, so that the sockets are the only level; uneven where m does not divide p.
      const topo::Hierarchy sockets = testing::machine(p, m, 1, (p + m - 1) / m);
      const int used = sockets.is_flat() ? 1 : sockets.groups(0);
      if (used != m) continue;  // too few ranks for so many sockets
      ++machines;
      EXPECT_EQ(volume(Collective::allreduce, "movement_avoiding_socket", sockets, Access::shm), 5u * p + 2 * m - 3)
          << p << " " << m;
      EXPECT_EQ(volume(Collective::reduce, "movement_avoiding_socket", sockets, Access::shm), 3u * p + 2 * m - 1)
          << p << " " << m;
    }
    EXPECT_GE(machines, 10) << m << " sockets";
  }
}

TEST(Volume, CheckValuesOfTheTextsAtSixtyFourRanksOnTwoSockets) {
  const topo::Hierarchy machine = testing::machine(64, 2, 4, 8);
  EXPECT_EQ(volume(Collective::allreduce, "movement_avoiding", machine, Access::shm), 319u);
  EXPECT_EQ(volume(Collective::allreduce, "movement_avoiding_socket", machine, Access::shm), 321u);
  EXPECT_EQ(volume(Collective::allreduce, "fused", machine, Access::mapped), 191u);
}

// Theorem 3.1: a reduction through shared memory copies two vectors' worth of bytes at least, and movement avoiding no
// more: what is left is p-1 additions of two loads and a store, and what the ranks collect.
TEST(Volume, MovementAvoidingMeetsTheCopyLowerBound) {
  for (int p : some_ranks()) {
    const topo::Hierarchy flat = topo::Hierarchy::flat(p);
    const uint64_t copied_in = volume(Collective::reduce, "movement_avoiding", flat, Access::shm) - 3u * (p - 1) - 2;
    EXPECT_EQ(copied_in, 2u) << p;
  }
}

TEST(Volume, Broadcasts) {
  for (int p : some_ranks()) {
    const topo::Hierarchy flat = topo::Hierarchy::flat(p);
    EXPECT_EQ(volume(Collective::bcast, "flat_read", flat, Access::mapped), 2u * (p - 1)) << p;
    EXPECT_EQ(volume(Collective::bcast, "sequential_write", flat, Access::copy), 2u * (p - 1)) << p;
    EXPECT_EQ(volume(Collective::bcast, "knomial", flat, Access::copy), 2u * (p - 1)) << p;
    EXPECT_EQ(volume(Collective::bcast, "shm_pipelined", flat, Access::shm), 2u * p) << p;
  }
  // Staged leaders load a chunk once for their own buffer and their slots: 3 instead of 4 per leader, 2 per leaf.
  const topo::Hierarchy machine = testing::machine(64, 2, 4, 8);
  EXPECT_EQ(volume(Collective::bcast, "hierarchical", machine, Access::mapped), 126u);
  EXPECT_EQ(volume(Collective::bcast, "hierarchical", machine, Access::shm), 2u + 7 * 3 + 56 * 2);
}

}  // namespace
}  // namespace coll::algo
