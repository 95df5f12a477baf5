// SPDX-License-Identifier: BSD-3-Clause
// Allgather and alltoall: which ranks move which data, in which order, how far and how often. verify_test.cc checks
// that the results are correct.
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <numeric>
#include <set>

#include "plan/check.h"
#include "plan/count.h"
#include "requests.h"

namespace coll::algo {
namespace {

using plan::AccessMode;
using plan::Collective;
using plan::Direction;
using plan::Kind;
using plan::Operand;
using plan::Plan;
using plan::Space;
using plan::Step;

Plan make(Collective what, const char* name, const topo::Hierarchy& hierarchy, bool irregular = false, uint16_t j = 1) {
  return find(what, name)
      ->make(
          {.hierarchy = &hierarchy, .irregular = irregular, .parameters = {.chunk_bytes = 4096, .depth = 2, .j = j}});
}

// A block that a rank reads from the view of another.
struct Read {
  int from, piece;
  friend bool operator==(const Read&, const Read&) = default;
};

// In the order of the program. A block that may come from a view in either state counts once.
std::vector<Read> reads(const Plan& plan, int rank) {
  std::vector<Read> made;
  const plan::Program& program = plan.program(rank);
  for (const plan::Lane& lane : program.lanes)
    for (const Step& step : lane.steps) {
      if (step.kind != Kind::copy) continue;
      const Operand& from = program.operands[step.operand + step.destinations];
      const Read read{from.rank, from.block == plan::no_block ? int(from.rank) : int(from.block)};
      if (from.space == Space::view && from.rank != rank && (made.empty() || made.back() != read)) made.push_back(read);
    }
  return made;
}

std::vector<int> senders(const Plan& plan, int rank) {
  std::vector<int> made;
  for (const Read& read : reads(plan, rank)) made.push_back(read.from);
  return made;
}

// Consecutive reads from one source.
std::vector<std::pair<int, int>> turns(const Plan& plan, int rank) {
  std::vector<std::pair<int, int>> made;
  for (const Read& read : reads(plan, rank))
    if (made.empty() || made.back().first != read.from) made.push_back({read.from, 1});
    else ++made.back().second;
  return made;
}

constexpr size_t count = 40009, element_bytes = 8, piece_bytes = count * element_bytes;

plan::Counts counts(const Plan& plan, AccessMode access, const topo::Hierarchy* hierarchy = nullptr) {
  plan::Counts counts = plan::count(plan, count, element_bytes, access, [&](int a, int b) -> uint8_t {
    if (hierarchy == nullptr) return 0;
    switch (hierarchy->distance(a, b)) {
      case topo::Distance::node: return 2;
      case topo::Distance::socket: return 1;
      default: return 0;
    }
  });
  EXPECT_EQ(counts.problem, "") << plan.algorithm;
  counts.by_distance.resize(3);
  return counts;
}

// In blocks.
double volume(Collective what, const char* name, int ranks, AccessMode access) {
  const topo::Hierarchy flat = topo::Hierarchy::flat(ranks);
  return double(counts(make(what, name, flat), access).total.total()) / double(piece_bytes);
}

// ---- alltoall -------------------------------------------------------------------------------------------------

TEST(Alltoall, PairsExchangeIfRanksAreAPowerOfTwo) {
  for (int p : {2, 4, 8, 64}) {
    const Plan plan = make(Collective::alltoall, "pairwise", topo::Hierarchy::flat(p));
    for (int rank = 0; rank < p; ++rank)
      for (int step = 1; step < p; ++step) EXPECT_EQ(senders(plan, rank)[size_t(step) - 1], rank ^ step);
  }
  for (int p : {3, 6, 63}) {
    const Plan plan = make(Collective::alltoall, "pairwise", topo::Hierarchy::flat(p));
    for (int rank = 0; rank < p; ++rank)
      for (int step = 1; step < p; ++step) EXPECT_EQ(senders(plan, rank)[size_t(step) - 1], (rank - step + p) % p);
  }
}

// KNEM Fig. 3.
TEST(Alltoall, RotatedBeginsWithTheNextRank) {
  const Plan plan = make(Collective::alltoall, "rotated", topo::Hierarchy::flat(4));
  EXPECT_EQ(senders(plan, 0), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(senders(plan, 1), (std::vector<int>{2, 3, 0}));
  EXPECT_EQ(senders(plan, 2), (std::vector<int>{3, 0, 1}));
  EXPECT_EQ(senders(plan, 3), (std::vector<int>{0, 1, 2}));
}

// At any step, every sender has exactly one reader, so that all ranks are busy.
TEST(Alltoall, EverySenderHasOneReaderAtAnyStep) {
  for (const char* name : {"pairwise", "rotated"})
    for (bool irregular : {false, true})
      for (int p : {2, 3, 4, 7, 8, 12, 64}) {
        const Plan plan = make(Collective::alltoall, name, topo::Hierarchy::flat(p), irregular);
        EXPECT_TRUE(plan.one_reader);
        EXPECT_EQ(plan.direction, Direction::read);
        EXPECT_EQ(plan::check_form(plan), "") << name;
        std::vector<std::set<int>> busy(size_t(p) - 1);
        for (int rank = 0; rank < p; ++rank) {
          const std::vector<int> order = senders(plan, rank);
          ASSERT_EQ(order.size(), busy.size());
          for (size_t step = 0; step < order.size(); ++step) busy[step].insert(order[step]);
        }
        for (const std::set<int>& step : busy) EXPECT_EQ(step.size(), size_t(p)) << name << " " << p;
      }
}

TEST(Alltoall, TwoReadersOfOneSenderAreRefused) {
  Plan plan = make(Collective::alltoall, "rotated", topo::Hierarchy::flat(4));
  for (Operand& operand : plan.programs[3].operands)
    if (operand.space == Space::view && operand.rank != 3) operand.rank = uint16_t((operand.rank + 1) % 3);
  EXPECT_NE(plan::check_form(plan).find("one reader at a time"), std::string::npos) << plan::check_form(plan);
}

TEST(Alltoall, BlocksMoveOnceOrThroughASlot) {
  for (int p : {1, 2, 3, 8, 64})
    for (const char* name : {"pairwise", "rotated"}) {
      EXPECT_EQ(volume(Collective::alltoall, name, p, AccessMode::remote), 2.0 * p * p) << name << " " << p;
      EXPECT_EQ(volume(Collective::alltoall, name, p, AccessMode::staged), 2.0 * p + 4.0 * p * (p - 1))
          << name << " " << p;
    }
}

// A block makes as many hops as its distance has bits; the first slot costs one more copy.
TEST(Alltoall, BruckHasLogarithmicStepsAndHopsByBits) {
  for (int p : {2, 3, 4, 7, 8, 13, 64}) {
    const topo::Hierarchy flat = topo::Hierarchy::flat(p);
    const Plan plan = make(Collective::alltoall, "bruck", flat);
    const int steps = std::bit_width(unsigned(p) - 1);
    int hops = 0;
    for (int distance = 1; distance < p; ++distance) hops += std::popcount(unsigned(distance));
    for (int rank = 0; rank < p; ++rank) {
      const auto made = turns(plan, rank);
      ASSERT_EQ(made.size(), size_t(steps)) << p;
      for (int step = 0; step < steps; ++step)
        EXPECT_EQ(made[size_t(step)].first, (rank - (1 << step) + p) % p) << p << " step " << step;
    }
    EXPECT_EQ(volume(Collective::alltoall, "bruck", p, AccessMode::staged), 2.0 * p * (1 + hops + (p - 1))) << p;
  }
}

// ---- allgather ------------------------------------------------------------------------------------------------

TEST(Allgather, RingsAreRefusedUnlessTheStrideReachesAllRanks) {
  const Algorithm& ring = *find(Collective::allgather, "ring_neighbor");
  for (int p = 1; p <= 64; ++p)
    for (int j : {1, 2, 3, 5, 15, 64}) {
      const topo::Hierarchy flat = topo::Hierarchy::flat(p);
      const bool reaches = p == 1 || std::gcd(p, j) == 1;
      const PlanRequest request{.hierarchy = &flat, .parameters = {.j = uint16_t(j)}};
      EXPECT_EQ(ring.applies(request), reaches) << p << " " << j;
      EXPECT_EQ(ring.refuses(request).empty(), reaches) << p << " " << j;
      if (!reaches || p == 1) continue;
      const Plan plan = make(Collective::allgather, "ring_neighbor", flat, false, uint16_t(j));
      EXPECT_NE(plan.parameters.find("j=" + std::to_string(j)), std::string::npos);
      for (int rank = 0; rank < p; ++rank) {
        const std::vector<Read> made = reads(plan, rank);
        ASSERT_EQ(made.size(), size_t(p) - 1);
        std::set<int> pieces;
        for (const Read& read : made) {
          EXPECT_EQ((read.from + j) % p, rank);
          pieces.insert(read.piece);
        }
        EXPECT_EQ(pieces.size(), size_t(p) - 1) << p << " " << j;
      }
    }
}

// CMA V-A.5: on 2 sockets of 14 cores the nearest neighbour is in the same socket, the fifteenth is not.
TEST(Allgather, TheStrideDecidesHowOftenARingCrossesSockets) {
  const topo::Hierarchy broadwell = testing::machine(28, 2, 1, 14);
  const auto crossings = [&](uint16_t j) {
    return counts(make(Collective::allgather, "ring_neighbor", broadwell, false, j), AccessMode::remote, &broadwell)
        .by_distance[2]
        .messages;
  };
  EXPECT_EQ(crossings(1), 2u);
  EXPECT_EQ(crossings(15), 26u);
}

TEST(Allgather, SourcesAreReadByOneRankAtATime) {
  for (int p : {2, 3, 8, 64}) {
    const topo::Hierarchy flat = topo::Hierarchy::flat(p);
    const Plan read = make(Collective::allgather, "ring_source_read", flat);
    EXPECT_TRUE(read.one_reader);
    EXPECT_EQ(plan::check_form(read), "");
    for (int rank = 0; rank < p; ++rank)
      for (int step = 1; step < p; ++step) EXPECT_EQ(senders(read, rank)[size_t(step) - 1], (rank - step + p) % p);
    const Plan write = make(Collective::allgather, "ring_source_write", flat);
    EXPECT_EQ(write.direction, Direction::write);
    for (const char* name : {"ring_source_read", "ring_neighbor", "recursive_doubling", "bruck", "hierarchical"})
      EXPECT_EQ(make(Collective::allgather, name, flat).direction, Direction::read) << name;
  }
}

// Step i moves 2^i blocks between partners; the folded ranks have one step before and one after.
TEST(Allgather, RecursiveDoublingDoubles) {
  for (int p : {2, 3, 4, 6, 7, 8, 13, 64}) {
    const Plan plan = make(Collective::allgather, "recursive_doubling", topo::Hierarchy::flat(p));
    const int cube = int(std::bit_floor(unsigned(p)));
    for (int rank = 0; rank < p; ++rank) {
      std::vector<std::pair<int, int>> expected;
      if (rank >= cube) {
        expected = {{rank - cube, p - 1}};
      } else {
        if (rank + cube < p) expected.push_back({rank + cube, 1});
        for (int distance = 1; distance < cube; distance *= 2) {
          const int partner = rank ^ distance, low = partner / distance * distance;
          int pieces = distance;
          for (int x = low; x < low + distance; ++x) pieces += x + cube < p;
          expected.push_back({partner, pieces});
        }
      }
      EXPECT_EQ(turns(plan, rank), expected) << p << " rank " << rank;
    }
  }
}

TEST(Allgather, BruckHasLogarithmicallyManySteps) {
  for (int p : {2, 3, 5, 8, 28, 64}) {
    const Plan plan = make(Collective::allgather, "bruck", topo::Hierarchy::flat(p));
    for (int rank = 0; rank < p; ++rank) {
      std::vector<std::pair<int, int>> expected;
      for (int have = 1; have < p; have *= 2) expected.push_back({(rank + have) % p, std::min(have, p - have)});
      EXPECT_EQ(turns(plan, rank), expected) << p << " rank " << rank;
    }
  }
}

// With direct views every block is copied once to every rank, also if it comes through another rank.
TEST(Allgather, BlocksMoveOnce) {
  for (int p : {1, 2, 3, 8, 64})
    for (const char* name :
         {"ring_source_read", "ring_source_write", "ring_neighbor", "recursive_doubling", "bruck", "gather_bcast"})
      EXPECT_EQ(volume(Collective::allgather, name, p, AccessMode::remote), 2.0 * p * p) << name << " " << p;
}

// YHCCL Alg. 4: every rank copies its vector in and all of them out; W = s p + s p^2 + 2 p I.
TEST(Allgather, ThePipelineHasTheWorkSetOfThePaper) {
  for (int p : {2, 3, 8, 64}) {
    EXPECT_EQ(volume(Collective::allgather, "shm_pipelined", p, AccessMode::staged), 2.0 * p * (1 + p)) << p;
    const Plan plan = make(Collective::allgather, "shm_pipelined", topo::Hierarchy::flat(p));
    EXPECT_EQ(plan.staging_bytes, 2u * 4096);
    // Data that is copied in is read again; data that is copied out is not.
    for (const Step& step : plan.program(0).lanes[0].steps) {
      if (step.kind != Kind::copy) continue;
      EXPECT_EQ(step.reused, plan.program(0).operands[step.operand].space == Space::view);
    }
    for (const Step& step : plan.program(0).lanes[1].steps) EXPECT_TRUE(step.kind != Kind::copy || !step.reused);
  }
}

// Every block enters a group once: 64 ranks in 2 sockets of 4 nodes of 8.
TEST(Allgather, LeadersAloneCrossTheBorders) {
  for (bool by_numa : {false, true}) {
    const topo::Hierarchy machine = testing::machine(64, 2, 4, 8, by_numa);
    const plan::Counts made =
        counts(make(Collective::allgather, "hierarchical", machine), AccessMode::remote, &machine);
    EXPECT_EQ(made.by_distance[2].messages, 2u);
    EXPECT_EQ(made.by_distance[1].messages, 12u);
    EXPECT_EQ(made.by_distance[0].messages, 112u);
    EXPECT_EQ(made.by_distance[2].bytes, 64 * piece_bytes);
    // Up: the blocks of three nodes in each socket. Down: the blocks that such a node lacks, three times.
    EXPECT_EQ(made.by_distance[1].bytes, 2 * (3 * 8 + 3 * 56) * piece_bytes);
    EXPECT_EQ(made.total.total(), 2 * 64 * 64 * piece_bytes);
  }
}

}  // namespace
}  // namespace coll::algo
