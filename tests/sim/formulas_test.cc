// SPDX-License-Identifier: BSD-3-Clause
// Formula and simulation agree within 6.5 % under the formula's assumptions: one distance, ranks that arrive together,
// wide links. Formulas that follow a plan with all distances and links agree within 10 to 15 %.
#include <gtest/gtest.h>

#include <cmath>

#include "model/prices.h"
#include "virtual_runs.h"

namespace coll::sim {
namespace {

using model::Knobs;
using model::Mechanism;
using plan::AccessMode;
using plan::Collective;
using testing::Machine;

struct Case {
  const char* machine;
  int ranks;
  Collective collective;
  const char* algorithm;
  Mechanism mechanism;
  size_t bytes;
  Knobs knobs;
  bool by_size = false;  // with rates by size, as a calibrated table has them
  bool links = false;    // with the links of the machine, for mechanisms without locks
  double within = 0.065;
  bool huge_pages = false;
};

// Rates decrease from cache to cache; all differ.
std::vector<model::CacheRates> measured_rates() {
  return {
      {32 << 10, 60, 40, 9, 8, 50, 7, 14}, {1 << 20, 40, 25, 15, 9, 45, 13, 12}, {64 << 20, 12, 6, 11, 6, 13, 10, 8}};
}

void compare(const Case& of) {
  Machine on(of.machine, of.ranks);
  on.table.huge_pages = of.huge_pages;
  if ((!model::is_kernel_copy(of.mechanism) && !of.links) || of.by_size) on.table.links = {};
  // Formulas do not include non-temporal stores.
  if (of.by_size)
    on.table.caches = measured_rates(), on.table.overlap = 0.3, on.table.thresholds.non_temporal_bytes = 0;
  const model::Row* row = model::find_row(plan::name(of.collective), of.algorithm);
  ASSERT_NE(row, nullptr) << of.algorithm;
  const algo::Parameters parameters = {
      .chunk_bytes = uint32_t(of.knobs.chunk_bytes > 0 ? of.knobs.chunk_bytes : of.bytes), .k = uint16_t(of.knobs.k)};
  const plan::Plan plan = plan_of(on, of.collective, of.algorithm, parameters);
  Knobs knobs = of.knobs;
  knobs.in_place = of.collective == Collective::scatter || of.collective == Collective::gather;
  const model::Setting setting(on.table, on.hierarchy, of.mechanism);
  const double formula = model::cost(*row, setting, double(of.bytes), knobs).total_us();
  const AccessMode access = of.mechanism == Mechanism::shared_memory ? AccessMode::staged
                            : of.mechanism == Mechanism::mapped      ? AccessMode::direct
                                                                     : AccessMode::remote;
  const double virtual_us =
      run_of(on, plan, of.bytes, {.access = access, .kernel = of.mechanism, .in_place = knobs.in_place}).end_us;
  std::printf("%-10s %s p=%-3d %-12s %-18s k=%-2d %8zu B: formula %10.2f us, simulator %10.2f us, %+.1f %%\n",
              of.machine, of.by_size ? "by size" : "       ", of.ranks, plan::name(of.collective), of.algorithm,
              of.knobs.k, of.bytes, formula, virtual_us, 100 * (virtual_us / formula - 1));
  // The formula determines how short the slots make the chunks, and assumes equal lengths: up to 1.5 % more pages.
  EXPECT_NEAR(virtual_us / formula, 1, of.within) << of.algorithm;
}

constexpr size_t kib = 1024, mib = 1024 * kib;

// Throttled: the paper's steps are synchronous. Ranks drift apart if the startup, which locks nothing, takes as long as
// the pages; then fewer than k lock at a time. So the test uses more than a few pages, or a small k.
TEST(Agreement, Scatter) {
  for (size_t bytes : {16 * kib, mib}) {
    compare({"knl", 64, Collective::scatter, "parallel_read", Mechanism::cma, bytes, {}});
    compare({"knl", 64, Collective::scatter, "sequential_write", Mechanism::cma, bytes, {}});
    compare({"knl", 64, Collective::scatter, "throttled_read", Mechanism::cma, bytes, {.k = 2}});
  }
  for (int k : {4, 8, 16}) compare({"knl", 64, Collective::scatter, "throttled_read", Mechanism::cma, mib, {.k = k}});
}

// The root stages what the others read, and writes to each of them.
TEST(Agreement, BcastByPushAndPull) {
  const Mechanism staged = Mechanism::shared_memory;
  for (const auto& [machine, ranks] : {std::pair{"power8", 20}, {"broadwell", 28}, {"nodeb", 48}}) {
    compare({machine, ranks, Collective::bcast, "push_pull", staged, 16 * kib, {}, false, true, 0.1});
    for (size_t bytes : {mib, 8 * mib})
      compare({machine,
               ranks,
               Collective::bcast,
               "push_pull",
               staged,
               bytes,
               {.chunk_bytes = 256 << 10},
               false,
               true,
               0.15});
  }
}

// Ranks are near their sources in the first steps and far in the last ones, and share links.
TEST(Agreement, AlltoallInLogarithmicallyManySteps) {
  const Mechanism staged = Mechanism::shared_memory;
  for (const auto& [machine, ranks] : {std::pair{"epyc-1p", 32}, {"epyc-2p", 64}, {"arm-n1", 160}, {"nodeb", 48}})
    for (size_t bytes : {size_t(64), 2 * kib})
      compare({machine, ranks, Collective::alltoall, "bruck", staged, bytes, {}, false, true, 0.15});
}

// A leader, or a member that forwards, works for its whole group. 28 ranks are in two groups, 45 in groups of 11 and 12.
// Omitted: 16 KiB on knl, where the allgather takes 1.3 times its price.
TEST(Agreement, SmallGroups) {
  const Mechanism staged = Mechanism::shared_memory;
  for (const auto& [machine, ranks] : {std::pair{"epyc-1p", 32}, {"knl", 64}, {"broadwell", 28}, {"nodeb", 45}})
    for (Collective collective : {Collective::allgather, Collective::alltoall}) {
      compare({machine, ranks, collective, "grouped", staged, kib, {}, false, true, 0.15});
      if (ranks != 64) compare({machine, ranks, collective, "grouped", staged, 16 * kib, {}, false, true, 0.15});
    }
}

TEST(Agreement, Gather) {
  for (size_t bytes : {16 * kib, mib}) {
    compare({"knl", 64, Collective::gather, "parallel_write", Mechanism::cma, bytes, {}});
    compare({"knl", 64, Collective::gather, "sequential_read", Mechanism::cma, bytes, {}});
    compare({"knl", 64, Collective::gather, "throttled_write", Mechanism::cma, bytes, {.k = 2}});
  }
  for (int k : {4, 8, 16}) compare({"knl", 64, Collective::gather, "throttled_write", Mechanism::cma, mib, {.k = k}});
}

TEST(Agreement, HugePages) {
  const auto on_huge = [](Collective collective, const char* algorithm, size_t bytes) {
    compare({.machine = "broadwell",
             .ranks = 28,
             .collective = collective,
             .algorithm = algorithm,
             .mechanism = Mechanism::cma,
             .bytes = bytes,
             .knobs = {},
             .huge_pages = true});
  };
  for (size_t bytes : {64 * kib, 512 * kib, mib}) {
    on_huge(Collective::scatter, "parallel_read", bytes);
    on_huge(Collective::gather, "parallel_write", bytes);
    on_huge(Collective::gather, "sequential_read", bytes);
    on_huge(Collective::bcast, "flat_read", bytes);
    on_huge(Collective::allgather, "ring_source_read", bytes);
    on_huge(Collective::allgather, "ring_neighbor", bytes);
  }
}

TEST(Agreement, Bcast) {
  for (size_t bytes : {16 * kib, 256 * kib, 4 * mib}) {
    compare({"knl", 64, Collective::bcast, "flat_read", Mechanism::cma, bytes, {}});
    compare({"knl", 64, Collective::bcast, "sequential_write", Mechanism::cma, bytes, {}});
    compare({"knl", 64, Collective::bcast, "knomial", Mechanism::cma, bytes, {.k = 1}});
    compare({"knl", 64, Collective::bcast, "knomial", Mechanism::cma, bytes, {.k = 3}});
    compare({"knl", 64, Collective::bcast, "knomial", Mechanism::cma, bytes, {.k = 7}});
  }
}

// By loads and stores, which lock nothing. The formulas assume one distance and no links: one socket, links without
// limits.
TEST(Agreement, Mapped) {
  const Mechanism mapped = Mechanism::mapped;
  for (size_t bytes : {64 * kib, mib}) {
    for (const char* algorithm : {"flat_read", "sequential_write"})
      compare({"nodeb", 16, Collective::bcast, algorithm, mapped, bytes, {}});
    for (int k : {1, 3}) compare({"nodeb", 16, Collective::bcast, "knomial", mapped, bytes, {.k = k}});
    for (const char* algorithm : {"parallel_read", "sequential_write"})
      compare({"nodeb", 16, Collective::scatter, algorithm, mapped, bytes, {}});
    for (const char* algorithm : {"parallel_write", "sequential_read"})
      compare({"nodeb", 16, Collective::gather, algorithm, mapped, bytes, {}});
    for (const char* algorithm : {"ring_source_read", "ring_source_write", "ring_neighbor", "recursive_doubling"})
      compare({"nodeb", 16, Collective::allgather, algorithm, mapped, bytes, {}});
    for (const char* algorithm : {"pairwise", "rotated"})
      compare({"nodeb", 16, Collective::alltoall, algorithm, mapped, bytes, {}});
    for (const char* algorithm : {"all_read", "recursive_doubling", "fused"})
      compare({"nodeb", 16, Collective::allreduce, algorithm, mapped, bytes, {}});
    compare({"nodeb", 16, Collective::reduce, "flat", mapped, bytes, {}});
  }
}

TEST(Agreement, SharedMemory) {
  for (size_t bytes : {4 * kib, 64 * kib}) {
    compare({"nodeb", 16, Collective::bcast, "shm_pipelined", Mechanism::shared_memory, bytes, {}});
    compare({"nodeb", 16, Collective::allgather, "shm_pipelined", Mechanism::shared_memory, bytes, {}});
    compare({"nodeb", 16, Collective::scatter, "parallel_read", Mechanism::shared_memory, bytes, {}});
    compare({"nodeb", 16, Collective::allreduce, "all_read", Mechanism::shared_memory, bytes, {}});
  }
  compare({"nodeb", 16, Collective::barrier, "dissemination", Mechanism::shared_memory, 0, {}});
}

// The first chunk passes all ranks one after another; the chunks after it follow as the ring allows.
TEST(Agreement, InOrderTree) {
  for (size_t bytes : {kib, 16 * kib, 128 * kib})
    for (double chunk_bytes : {0.0, 4096.0})
      for (const auto& [machine, ranks] : {std::pair{"nodeb", 16}, {"nodeb", 45}, {"epyc-2p", 64}, {"arm-n1", 61}})
        for (Collective collective : {Collective::reduce, Collective::allreduce})
          compare({.machine = machine,
                   .ranks = ranks,
                   .collective = collective,
                   .algorithm = "in_order_tree",
                   .mechanism = Mechanism::shared_memory,
                   .bytes = bytes,
                   .knobs = {.chunk_bytes = chunk_bytes < double(bytes) ? chunk_bytes : 0},
                   .links = true,
                   .within = 0.1});
}

// A group of one rank reduces the whole vector in each of the others.
TEST(Agreement, UnevenGroups) {
  for (size_t bytes : {kib, 16 * kib, 128 * kib})
    for (int ranks : {25, 33, 48})
      for (Collective collective : {Collective::reduce, Collective::allreduce})
        compare({.machine = "nodeb",
                 .ranks = ranks,
                 .collective = collective,
                 .algorithm = "dpml_two_level",
                 .mechanism = Mechanism::shared_memory,
                 .bytes = bytes,
                 .knobs = {},
                 .links = true,
                 .within = 0.15});
}

// With the rates of a calibrated table, both sides look up the same sizes, for every transport. Cases are omitted in
// which the formula has another assumption: that a write costs as much as a read (it accesses lines that the peer
// holds), and that the reduced data are long compared with the ends of its copies (fused slices of 4 KiB: 13 % apart,
// staged all_read of 4 KiB: 8 %).
TEST(Agreement, RatesBySize) {
  const Mechanism mapped = Mechanism::mapped, shm = Mechanism::shared_memory, cma = Mechanism::cma;
  for (size_t bytes : {64 * kib, mib, 4 * mib}) {
    compare({"knl", 64, Collective::scatter, "parallel_read", cma, bytes, {}, true});
    compare({"knl", 64, Collective::scatter, "sequential_write", cma, bytes, {}, true});
    compare({"knl", 64, Collective::gather, "sequential_read", cma, bytes, {}, true});
    compare({"knl", 64, Collective::bcast, "flat_read", cma, bytes, {}, true});
    for (int k : {1, 3}) compare({"knl", 64, Collective::bcast, "knomial", cma, bytes, {.k = k}, true});
    compare({"nodeb", 16, Collective::bcast, "flat_read", mapped, bytes, {}, true});
    compare({"nodeb", 16, Collective::scatter, "parallel_read", mapped, bytes, {}, true});
    compare({"nodeb", 16, Collective::gather, "sequential_read", mapped, bytes, {}, true});
    for (const char* algorithm : {"ring_source_read", "ring_neighbor"})
      compare({"nodeb", 16, Collective::allgather, algorithm, mapped, bytes, {}, true});
    compare({"nodeb", 16, Collective::alltoall, "pairwise", mapped, bytes, {}, true});
    compare({"nodeb", 16, Collective::allreduce, "all_read", mapped, bytes, {}, true});
    if (bytes >= mib) compare({"nodeb", 16, Collective::allreduce, "fused", mapped, bytes, {}, true});
    compare({"nodeb", 16, Collective::reduce, "flat", mapped, bytes, {}, true});
  }
  for (size_t bytes : {4 * kib, 64 * kib}) {
    compare({"nodeb", 16, Collective::bcast, "shm_pipelined", shm, bytes, {}, true});
    compare({"nodeb", 16, Collective::scatter, "parallel_read", shm, bytes, {}, true});
    if (bytes > 4 * kib) compare({"nodeb", 16, Collective::allreduce, "all_read", shm, bytes, {}, true});
  }
}

}  // namespace
}  // namespace coll::sim
