// SPDX-License-Identifier: BSD-3-Clause
// Work sets as YHCCL prints them.
#include "model/workset.h"

#include <gtest/gtest.h>

namespace coll::model {
namespace {

using plan::Collective;

constexpr uint64_t slices[] = {64, 4096, 131072}, vectors[] = {0, 64, 1 << 16, 5 << 20};

TEST(WorkSet, FormulasOfThePapers) {
  for (uint64_t p : {2, 3, 8, 64})
    for (uint64_t I : slices)
      for (uint64_t s : vectors) {
        EXPECT_EQ(work_set(Collective::bcast, "shm_pipelined", s, I, p), s + s * (p - 1) + 2 * I);
        EXPECT_EQ(work_set(Collective::allgather, "shm_pipelined", s, I, p), s * p + s * p * p + 2 * p * I);
        EXPECT_EQ(work_set(Collective::allreduce, "movement_avoiding", s, I, p), 2 * s * p + p * I);
        for (uint64_t m : {1, 2, 4})
          EXPECT_EQ(work_set(Collective::allreduce, "movement_avoiding_socket", s, I, p, m), 2 * s * p + m * p * I);
      }
}

// The size from which the socket-aware allreduce bypasses the cache on YHCCL's nodes: the largest vector in KiB that
// does not. The paper prints 2176 and 1152, the values of one socket; its nodes have two.
TEST(WorkSet, SwitchPointsOfThePaper) {
  constexpr uint64_t kib = 1024, mib = kib * kib;
  const auto begins_at = [](uint64_t cache, uint64_t p, uint64_t m, uint64_t slice) {
    uint64_t s = 0;
    while (!streams(work_set(Collective::allreduce, "movement_avoiding_socket", s, slice, p, m), cache)) s += 4 * kib;
    return (s - 4 * kib) / kib;
  };
  const uint64_t node_a = 256 * mib + 64 * 512 * kib, node_b = 66 * mib + 48 * mib;
  EXPECT_EQ(begins_at(node_a, 64, 1, 256 * kib), 2176u);
  EXPECT_EQ(begins_at(node_a, 64, 2, 256 * kib), 2048u);
  EXPECT_EQ(begins_at(node_b, 48, 1, 128 * kib), 1152u);
  EXPECT_EQ(begins_at(node_b, 48, 2, 128 * kib), 1088u);
}

}  // namespace
}  // namespace coll::model
