// SPDX-License-Identifier: BSD-3-Clause
// Scatter, gather and the broadcasts built from them: which ranks move data, how many at once, in which order, how far
// and how often. verify_test.cc checks that the results are correct.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <set>
#include <string>

#include "plan/count.h"
#include "plan/verify.h"
#include "requests.h"

namespace coll::algo {
namespace {

using plan::AccessMode;
using plan::Add;
using plan::Collective;
using plan::Direction;
using plan::Kind;
using plan::Plan;
using plan::Step;
using plan::When;

constexpr Collective both[] = {Collective::scatter, Collective::gather};

const char* parallel(Collective what) { return what == Collective::scatter ? "parallel_read" : "parallel_write"; }
const char* throttled(Collective what) { return what == Collective::scatter ? "throttled_read" : "throttled_write"; }
const char* sequential(Collective what) { return what == Collective::scatter ? "sequential_write" : "sequential_read"; }

Plan make(Collective what, const char* name, const topo::Hierarchy& hierarchy, int root = 0, uint16_t k = 2,
          bool irregular = false) {
  return find(what, name)
      ->make({.hierarchy = &hierarchy, .root = root, .irregular = irregular, .parameters = testing::small(2, 2, k)});
}

// Returns why the verifier refuses a plan with this claim; "" if the claim holds.
std::string refused(Plan plan, int throttle, Direction direction) {
  plan.throttle = uint16_t(throttle);
  plan.direction = direction;
  return plan::verify(plan, {.count = 3, .mixtures = 0, .adversaries = false, .interleavings = 0}).problem;
}

bool contains(const std::string& text, const char* words) { return text.find(words) != std::string::npos; }

TEST(Direction, ReadersForOneToAllWritersForAllToOne) {
  const topo::Hierarchy machine = testing::machine(12, 2, 2, 3);
  for (Collective what : both) {
    const Direction direction = what == Collective::scatter ? Direction::read : Direction::write;
    const Direction opposite = what == Collective::scatter ? Direction::write : Direction::read;
    for (const char* name : {parallel(what), throttled(what), "hierarchical"}) {
      const Plan plan = make(what, name, machine);
      EXPECT_EQ(plan.direction, direction) << name;
      EXPECT_TRUE(contains(refused(plan, 0, opposite), "claims only to")) << name;
    }
    const Plan plan = make(what, sequential(what), machine);
    EXPECT_EQ(plan.direction, opposite);
    EXPECT_TRUE(contains(refused(plan, 0, direction), "claims only to"));
  }
  for (const char* name : {"scatter_allgather", "scatter_allgather_ring", "scatter_allgather_doubling"})
    EXPECT_EQ(make(Collective::bcast, name, machine).direction, Direction::read) << name;
}

// The claimed throttle holds and is tight: the verifier refuses a throttle of one less.
TEST(Throttle, ExactlyKAtOnce) {
  for (Collective what : both)
    for (int ranks : {2, 3, 8, 13})
      for (int k : {1, 2, 3, 5, 12, 40}) {
        const topo::Hierarchy flat = topo::Hierarchy::flat(ranks);
        const Plan plan = make(what, throttled(what), flat, ranks / 2, uint16_t(k));
        const int at_once = std::min(k, ranks - 1);
        EXPECT_EQ(plan.throttle, at_once);
        EXPECT_EQ(refused(plan, at_once, plan.direction), "") << ranks << " ranks, k " << k;
        if (at_once > 1) {
          EXPECT_TRUE(contains(refused(plan, at_once - 1, plan.direction), "at once")) << ranks << " ranks, k " << k;
        }
      }
  const topo::Hierarchy flat = topo::Hierarchy::flat(8);
  for (Collective what : both) {
    EXPECT_EQ(refused(make(what, parallel(what), flat), 7, Direction::any), "");
    EXPECT_TRUE(contains(refused(make(what, parallel(what), flat), 6, Direction::any), "at once"));
    EXPECT_EQ(make(what, sequential(what), flat).throttle, 1);
  }
}

// The ranks for which a rank waits before its loop, except the root; and those for which the root waits after its own.
std::set<int> waits_for(const Plan& plan, int rank) {
  std::set<int> others;
  bool in_loop = false;
  for (const Step& step : plan.program(rank).lanes.at(0).steps) {
    if (step.kind == Kind::loop) in_loop = true;
    if (step.kind == Kind::end) in_loop = false;
    if (step.kind == Kind::wait && !in_loop && step.rank != plan.root) others.insert(step.rank);
  }
  return others;
}

// CMA IV-A.3, with ranks counted from the root: rank r waits for rank r-k, the root for the last k.
TEST(Throttle, TokensGoFromRankToRankPlusK) {
  for (Collective what : both)
    for (bool irregular : {false, true})
      for (int ranks : {2, 5, 9, 64})
        for (int k : {1, 2, 3, 4, 7, 63, 200})
          for (int root : {0, ranks - 1}) {
            const topo::Hierarchy flat = topo::Hierarchy::flat(ranks);
            const Plan plan = make(what, throttled(what), flat, root, uint16_t(k), irregular);
            std::set<int> last;
            for (int distance = 1; distance < ranks; ++distance) {
              const int rank = (root + distance) % ranks, before = (root + distance - k) % ranks;
              const std::set<int> expected = distance > k ? std::set<int>{before} : std::set<int>{};
              EXPECT_EQ(waits_for(plan, rank), expected) << ranks << " ranks, k " << k << ", rank " << rank;
              if (distance >= ranks - k) last.insert(rank);
            }
            EXPECT_EQ(waits_for(plan, root), last) << ranks << " ranks, k " << k;
          }
}

// Every round needs a flag, so there is a least k for many ranks. The plan names the k that it uses.
TEST(Throttle, IsNotBelowWhatTheFlagsAllow) {
  const topo::Hierarchy flat = topo::Hierarchy::flat(255);
  for (Collective what : both) {
    const Plan plan = make(what, throttled(what), flat, 0, 1);
    EXPECT_EQ(plan.throttle, 3);
    EXPECT_NE(plan.parameters.find("k=3"), std::string::npos);
  }
}

// Counts waits of a rank for an action of another rank, in the first iteration and with all views staged.
int hops(const Plan& plan, int rank) {
  int waits = 0;
  for (const Step& step : plan.program(rank).lanes.at(0).steps)
    waits += step.kind == Kind::wait && step.when != When::direct && step.add != Add::trips && step.value > 0;
  return waits;
}

// A short block reaches its rank in one hop: no rank waits for a peer's consent first.
TEST(Hops, OneForShortBlocks) {
  const topo::Hierarchy flat = topo::Hierarchy::flat(2);
  const Plan scatter = make(Collective::scatter, "parallel_read", flat);
  EXPECT_EQ(hops(scatter, 0), 0);
  EXPECT_EQ(hops(scatter, 1), 1);
  const Plan gather = make(Collective::gather, "sequential_read", flat);
  EXPECT_EQ(hops(gather, 0), 1);
  EXPECT_EQ(hops(gather, 1), 0);
}

struct Distances {
  uint64_t inside = 0, numas = 0, sockets = 0;
  bool operator==(const Distances&) const = default;
};

Distances distances(const Plan& plan, const topo::Hierarchy& hierarchy) {
  const plan::Counts counts = plan::count(plan, 1024, 8, AccessMode::remote, [&](int a, int b) -> uint8_t {
    switch (hierarchy.distance(a, b)) {
      case topo::Distance::node: return 2;
      case topo::Distance::socket: return 1;
      default: return 0;
    }
  });
  EXPECT_EQ(counts.problem, "");
  Distances made;
  uint64_t* const classes[] = {&made.inside, &made.numas, &made.sockets};
  for (size_t i = 0; i < counts.by_distance.size(); ++i) *classes[i] = counts.by_distance[i].messages;
  return made;
}

TEST(Hierarchical, LeadersAloneCrossTheBorders) {
  for (Collective what : both)
    for (bool by_numa : {false, true}) {
      const topo::Hierarchy machine = testing::machine(64, 2, 4, 8, by_numa);
      for (int root = 0; root < 64; root += 7)
        EXPECT_EQ(distances(make(what, "hierarchical", machine, root), machine), (Distances{56, 6, 1})) << root;
      EXPECT_EQ(distances(make(what, parallel(what), machine), machine), (Distances{7, 24, 32}));
    }
}

// In multiples of one block, or of the vector of a broadcast.
double volume(Collective what, const char* name, const topo::Hierarchy& hierarchy, AccessMode access,
              bool in_place = false) {
  constexpr size_t count = 40009, element_bytes = 8;
  const Plan plan = find(what, name)->make({.hierarchy = &hierarchy, .root = hierarchy.ranks() / 2});
  const plan::Counts counts = plan::count(plan, count, element_bytes, access, {}, in_place);
  EXPECT_EQ(counts.problem, "") << name;
  return double(counts.total.total()) / double(count * element_bytes);
}

TEST(Volume, ABlockIsCopiedOnceOrThroughASlot) {
  for (int p : {1, 2, 3, 8, 64}) {
    const topo::Hierarchy flat = topo::Hierarchy::flat(p);
    for (Collective what : both)
      for (const char* name : {parallel(what), throttled(what), sequential(what)}) {
        EXPECT_EQ(volume(what, name, flat, AccessMode::remote), 2.0 * p) << name << " " << p;
        EXPECT_EQ(volume(what, name, flat, AccessMode::remote, true), 2.0 * (p - 1)) << name << " " << p;
        EXPECT_EQ(volume(what, name, flat, AccessMode::staged), 4.0 * (p - 1) + 2) << name << " " << p;
      }
    for (const char* name : {"scatter_allgather", "scatter_allgather_ring", "scatter_allgather_doubling"})
      EXPECT_EQ(volume(Collective::bcast, name, flat, AccessMode::remote), 2.0 * (p - 1)) << name << " " << p;
  }
  // One of the two leaders is the root: the three blocks of ranks behind the other leader pass through its slots.
  const topo::Hierarchy machine = testing::machine(8, 2, 1, 4);
  for (Collective what : both) EXPECT_EQ(volume(what, "hierarchical", machine, AccessMode::remote), 2.0 * 8 + 2 * 3);
}

// All ranks, also the root, copy all but one slice of every chunk, and the root reads no other buffer.
TEST(PushPull, SharesTheWorkEvenly) {
  for (int p : {2, 3, 4, 8, 16}) {
    const topo::Hierarchy flat = topo::Hierarchy::flat(p);
    const size_t count = 10 * size_t(p), element_bytes = 64;  // a slice is a line
    for (int root : {0, p - 1}) {
      const Plan plan = find(Collective::bcast, "push_pull")
                            ->make({.hierarchy = &flat, .root = root, .parameters = testing::small(uint32_t(p), 2)});
      const plan::Counts counts = plan::count(plan, count, element_bytes, AccessMode::direct);
      ASSERT_EQ(counts.problem, "");
      for (int rank = 0; rank < p; ++rank) {
        const uint64_t stored = counts.ranks[size_t(rank)].stored;
        EXPECT_EQ(stored, 10 * size_t(p - 1) * element_bytes) << p << " ranks, rank " << rank;
      }
      EXPECT_EQ(counts.messages, uint64_t(p) - 1);
    }
  }
}

// Each rank gets one of the p slices from the root, and at most `most` from any other rank.
TEST(ScatterAllgather, SpreadsTheReads) {
  for (int p : {2, 3, 5, 8, 13, 64}) {
    const topo::Hierarchy flat = topo::Hierarchy::flat(p);
    const auto messages = [&](const char* name) {
      return plan::count(make(Collective::bcast, name, flat), 4096, 8, AccessMode::remote).messages;
    };
    const auto peers = uint64_t(p) - 1;
    // One slice from the root, and one from every other rank.
    EXPECT_EQ(messages("scatter_allgather"), peers * peers);
    // From the root, and from the left neighbour, which is the root for one rank.
    EXPECT_EQ(messages("scatter_allgather_ring"), peers + peers - 1);
    if (std::has_single_bit(unsigned(p))) {
      // From the root, and from log2 p others. The root's partners read from it twice.
      const auto levels = uint64_t(std::bit_width(unsigned(p)) - 1);
      EXPECT_EQ(messages("scatter_allgather_doubling"), peers + peers * levels - levels);
    }
  }
}

}  // namespace
}  // namespace coll::algo
