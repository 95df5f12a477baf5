// SPDX-License-Identifier: BSD-3-Clause
// In virtual time: the claims of XHC V-D about its three machines, and how the plan twins of the latency paths of many
// ranks compare with the other algorithms.
#include <gtest/gtest.h>

#include "virtual_runs.h"

namespace coll::sim {
namespace {

using plan::Collective;
using testing::Machine;

constexpr size_t kib = 1024, mib = 1024 * kib;

// Time of a broadcast with its best chunk, as a tuned library would run it.
double best_us(const Machine& on, const char* algorithm, size_t bytes) {
  double best = 1e30;
  for (uint32_t chunk = 16 * kib; chunk <= 256 * kib; chunk *= 4) {
    const plan::Plan plan = plan_of(on, Collective::bcast, algorithm, {.chunk_bytes = chunk, .depth = 4});
    best = std::min(best, run_of(on, plan, bytes).end_us);
  }
  return best;
}

double gain(const Machine& on, size_t bytes) {
  const double flat = best_us(on, "flat_read", bytes), tree = best_us(on, "hierarchical", bytes);
  std::printf("%-8s %8zu B: flat %9.2f us, hierarchical %9.2f us, ratio %.2f\n", on.table.name.c_str(), bytes, flat,
              tree, flat / tree);
  return flat / tree;
}

TEST(Xhc, HierarchyPaysMoreOnLargerMachines) {
  const double text[] = {1.32, 2.23, 4.46};
  const char* names[] = {"epyc-1p", "epyc-2p", "arm-n1"};
  double gains[3];
  for (int i = 0; i < 3; ++i) {
    const Machine on(names[i]);
    gains[i] = 0;
    for (size_t bytes : {256 * kib, 1 * mib, 4 * mib}) { gains[i] = std::max(gains[i], gain(on, bytes)); }
    std::printf("%-8s hierarchical up to %.2f times as fast as flat; the text: up to %.2f\n", names[i], gains[i],
                text[i]);
    EXPECT_GT(gains[i], 1) << names[i];
  }
  EXPECT_LT(gains[0], gains[1]);
  EXPECT_LT(gains[1], gains[2]);
}

TEST(Xhc, FlatWinsSmallMessagesWhereCoresShareAnL3) {
  for (size_t bytes : {4, 64, 512}) {
    for (const char* name : {"epyc-1p", "epyc-2p"}) EXPECT_LT(gain(Machine(name), bytes), 1) << name << " " << bytes;
    EXPECT_GT(gain(Machine("arm-n1"), bytes), 1) << bytes;
  }
}

// The shared line is the reason: without L3 caches that cores share, or with readers that cost it nothing, the
// comparison is reversed.
TEST(Xhc, TheSharedLineDecides) {
  Machine arm("arm-n1");
  arm.table.line_ns = 0;
  EXPECT_LT(gain(arm, 64), 1);
  Machine epyc("epyc-2p");
  epyc.table.topology = "package:2 numa:4 core:8";
  epyc.place(0);
  epyc.table.line_ns *= 4;
  EXPECT_GT(gain(epyc, 64), 1);
}

// Every registered algorithm with every throttle.
double best_of_all_us(const Machine& on, Collective collective, size_t bytes) {
  double best = 1e30;
  for (const algo::Algorithm& algorithm : algo::algorithms()) {
    if (algorithm.collective != collective) continue;
    for (uint16_t k : {1, 2, 3, 4, 7, 15, 31, 63}) {
      const plan::Plan plan =
          plan_of(on, collective, algorithm.name.data(), {.chunk_bytes = 4 * kib, .depth = 1, .k = k});
      best = std::min(best, run_of(on, plan, bytes).end_us);
      if (!algorithm.reads.k) break;
    }
  }
  return best;
}

TEST(LatencyPaths, TwinsOfManyRanksAreNearTheBestAlgorithm) {
  // In a scan every rank reads the results of all groups before its own: a plan reads one after the other, the path at
  // once.
  constexpr double usual = 1.2, of_scans = 1.8;
  for (const Machine& on : {Machine("epyc-2p", 64), Machine("arm-n1", 160)})
    for (Collective collective :
         {Collective::barrier, Collective::bcast, Collective::gather, Collective::scatter, Collective::allgather,
          Collective::alltoall, Collective::reduce, Collective::allreduce, Collective::reduce_scatter, Collective::scan,
          Collective::exscan}) {
      const plan::Plan twin = plan_of(on, collective, "grouped", {.chunk_bytes = 4 * kib, .depth = 1});
      const double us = run_of(on, twin, 8).end_us, best = best_of_all_us(on, collective, 8);
      std::printf("%-8s %-14s twin %.3f us, best %.3f us\n", on.table.name.c_str(), plan::name(collective), us, best);
      const bool scans = collective == Collective::scan || collective == Collective::exscan;
      EXPECT_LE(us, (scans ? of_scans : usual) * best) << on.table.name << " " << plan::name(collective);
    }
}

}  // namespace
}  // namespace coll::sim
