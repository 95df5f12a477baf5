// SPDX-License-Identifier: BSD-3-Clause
// Every registered plan runs to its end in virtual time, deterministically, and the trace describes the run.
#include <gtest/gtest.h>

#include "sim/trace.h"
#include "virtual_runs.h"

namespace coll::sim {
namespace {

using plan::AccessMode;
using plan::Collective;
using testing::Machine;

TEST(Simulate, EveryPlanEndsByEveryTransport) {
  const Machine machines[] = {Machine("epyc-2p", 24), Machine("default", 2), Machine("epyc-1p", 1)};
  for (const algo::Algorithm& algorithm : algo::algorithms())
    for (const Machine& on : machines)
      for (size_t bytes : {size_t(0), size_t(24), size_t(6000), size_t(240000)})
        for (AccessMode access : {AccessMode::direct, AccessMode::remote, AccessMode::staged}) {
          const plan::Plan plan = algorithm.make({.hierarchy = &on.hierarchy, .parameters = {.k = 3}});
          const Result run = run_of(on, plan, bytes, {.access = access});
          SCOPED_TRACE(std::string(algorithm.name) + " of " + std::to_string(bytes) + " bytes");
          ASSERT_EQ(int(run.ranks.size()), on.ranks());
          double last = 0;
          for (const RankTime& rank : run.ranks) {
            EXPECT_GE(rank.end_us, rank.arrival_us);
            last = std::max(last, rank.end_us);
          }
          EXPECT_EQ(run.end_us, last);
          EXPECT_LT(run.end_us, 1e5);
          if (on.ranks() > 1 && bytes > 0) { EXPECT_GT(run.end_us, 0.01); }
        }
}

TEST(Simulate, TheSameSeedGivesTheSameRun) {
  const Machine on("epyc-2p", 48);
  const plan::Plan plan = plan_of(on, Collective::allreduce, "hierarchical");
  const auto end = [&](uint64_t seed) { return run_of(on, plan, 1 << 20, {.skew_us = 50, .seed = seed}).end_us; };
  EXPECT_EQ(end(7), end(7));
  EXPECT_NE(end(7), end(8));
}

TEST(Simulate, LateRanksDelayTheRun) {
  const Machine on("epyc-1p", 32);
  const plan::Plan plan = plan_of(on, Collective::allreduce, "fused");
  const Result prompt = run_of(on, plan, 65536), late = run_of(on, plan, 65536, {.skew_us = 500});
  EXPECT_GT(late.end_us, prompt.end_us + 300);
  for (const RankTime& rank : prompt.ranks) EXPECT_EQ(rank.arrival_us, 0);
  double first = 1e9, last = 0;
  for (const RankTime& rank : late.ranks)
    first = std::min(first, rank.arrival_us), last = std::max(last, rank.arrival_us);
  EXPECT_LT(last, 500);
  EXPECT_GT(last - first, 250);
  EXPECT_LT(late.end_us, last + 1.1 * prompt.end_us + 1);
}

TEST(Simulate, MoreBytesAndFartherRanksTakeLonger) {
  const Machine on("epyc-2p", 64);
  const plan::Plan plan = plan_of(on, Collective::bcast, "hierarchical");
  double before = 0;
  for (size_t bytes = 1 << 12; bytes <= 1 << 24; bytes *= 4) {
    const double now = run_of(on, plan, bytes).end_us;
    EXPECT_GT(now, before);
    before = now;
  }
  Machine near("epyc-2p", 2), far("epyc-2p", 64);
  const plan::Plan pair = plan_of(near, Collective::bcast, "flat_read");
  const double here = run_of(near, pair, 65536).end_us;
  topo::Hierarchy apart = topo::Hierarchy::from_places({far.hierarchy.place(0), far.hierarchy.place(63)});
  const double there = simulate(pair, plan::Shape(65536), 1, apart, far.table, {}).end_us;
  EXPECT_GT(there, 1.5 * here);
}

TEST(Simulate, PageLocksAreContendedByTheReadersOfOneOwner) {
  const Machine on("knl", 64);
  const plan::Plan flat = plan_of(on, Collective::bcast, "flat_read", {.chunk_bytes = 1 << 20});
  EXPECT_EQ(run_of(on, flat, 1 << 20, {.access = AccessMode::remote}).most_locking, 63);
  const plan::Plan tree = plan_of(on, Collective::bcast, "knomial", {.chunk_bytes = 1 << 20, .k = 3});
  EXPECT_EQ(run_of(on, tree, 1 << 20, {.access = AccessMode::remote}).most_locking, 3);
}

TEST(Simulate, LongBuffersOnHugePagesHaveFewLocks) {
  Machine small("knl", 64), huge = small;
  huge.table.huge_pages = true;
  const auto times = [&](Collective collective, const char* algorithm, size_t bytes) {
    const Options by_kernel{.access = AccessMode::remote};
    const plan::Plan plan = plan_of(small, collective, algorithm, {.chunk_bytes = 1 << 20});
    return run_of(small, plan, bytes, by_kernel).end_us / run_of(huge, plan, bytes, by_kernel).end_us;
  };
  EXPECT_GT(times(Collective::bcast, "flat_read", 1 << 20), 5);
  EXPECT_EQ(times(Collective::bcast, "flat_read", 256 << 10), 1);
  // The blocks of all ranks are one long buffer at the root; the others' buffers are short.
  EXPECT_GT(times(Collective::gather, "parallel_write", 64 << 10), 5);
  EXPECT_EQ(times(Collective::gather, "sequential_read", 64 << 10), 1);
}

TEST(Simulate, RefusesTransportsThatTheMachineLacks) {
  const Machine on("knl", 8);
  const plan::Plan plan = plan_of(on, Collective::bcast, "flat_read");
  const auto problem = [&](const Options& options, int ranks) {
    Machine other("knl", ranks);
    return simulate(plan, plan::Shape(8), 1, other.hierarchy, on.table, options).problem;
  };
  EXPECT_NE(problem({.access = AccessMode::direct}, 8).find("no transport 'mapped'"), std::string::npos);
  EXPECT_NE(problem({.access = AccessMode::remote, .kernel = model::Mechanism::kcoll_pinned}, 8).find("kcoll_pinned"),
            std::string::npos);
  EXPECT_NE(problem({.access = AccessMode::remote}, 9), "");
}

TEST(Trace, HasEveryTransferAndWait) {
  const Machine on("epyc-1p", 8);
  const plan::Plan plan = plan_of(on, Collective::bcast, "hierarchical", {.chunk_bytes = 16384});
  const Result silent = run_of(on, plan, 65536);
  EXPECT_TRUE(silent.boxes.empty());
  const Result run = run_of(on, plan, 65536, {.record = true});
  EXPECT_EQ(run.end_us, silent.end_us);
  int copies = 0, waits = 0;
  for (const Box& box : run.boxes) {
    EXPECT_LE(box.begin_us, box.end_us);
    EXPECT_LE(box.end_us, run.end_us + 1e-9);
    copies += box.kind == plan::Kind::copy;
    waits += box.kind == plan::Kind::wait;
  }
  EXPECT_EQ(copies, 7 * 4);  // 7 receivers, 4 chunks
  EXPECT_GT(waits, 0);
  EXPECT_EQ(int(run.arrows.size()), waits);
  const std::string trace = chrome_trace(plan, run);
  EXPECT_NE(trace.find("\"rank 7 lane 0\""), std::string::npos);
  size_t slices = 0;
  for (size_t at = trace.find("\"ph\":\"X\""); at != std::string::npos; at = trace.find("\"ph\":\"X\"", at + 1))
    ++slices;
  EXPECT_EQ(slices, size_t(copies + waits));
}

}  // namespace
}  // namespace coll::sim
