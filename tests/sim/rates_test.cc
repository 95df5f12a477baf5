// SPDX-License-Identifier: BSD-3-Clause
// If a table has rates by size, copies and reductions cost accordingly: each rate is used where it applies.
#include <gtest/gtest.h>

#include "virtual_runs.h"

namespace coll::sim {
namespace {

using plan::AccessMode;
using plan::Collective;
using testing::Machine;

constexpr size_t bytes = 1 << 20;

// Two ranks whose flags, startups and steps cost nothing, with the same rates for all sizes.
Machine machine(const model::CacheRates& rates, double overlap) {
  Machine on("default", 2);
  on.table.flag_ns = model::ByDistance::all(1e-9);
  on.table.look_ns = on.table.line_ns = on.table.step_ns = 0;
  for (model::Access& access : on.table.access) access.startup_us = model::ByDistance::all(0);
  on.table.links = {};
  on.table.caches = {rates};
  on.table.overlap = overlap;
  return on;
}

double us(double gbs) { return double(bytes) / 1000 / gbs; }

double run(const Machine& on, Collective collective, const char* algorithm, AccessMode access = AccessMode::staged) {
  return run_of(on, plan_of(on, collective, algorithm, {.chunk_bytes = bytes, .depth = 1}), bytes, {.access = access})
      .end_us;
}

TEST(Rates, AStagedBroadcastLoadsTakesFetchesAndStores) {
  const model::CacheRates rates = {1, 50, 25, 10, 5, 40, 8};
  // One chunk: the root copies it into its slot, then the other rank copies it out.
  EXPECT_NEAR(run(machine(rates, 1), Collective::bcast, "flat_read"), us(50) + us(5) + us(10) + us(25), 1e-3);
  EXPECT_NEAR(run(machine(rates, 0), Collective::bcast, "flat_read"), us(5) + us(10), 1e-3);
  EXPECT_NEAR(run(machine(rates, 0.5), Collective::bcast, "flat_read"), us(5) + 0.5 * us(50) + us(10) + 0.5 * us(25),
              1e-3);
}

TEST(Rates, SlotsThatPeersFillAreFetchedByTheirOwner) {
  const model::CacheRates rates = {1, 50, 25, 10, 5, 40, 8};
  // The root writes into the reader's slot; the reader copies from its own slot data that another core has written.
  EXPECT_NEAR(run(machine(rates, 0), Collective::bcast, "sequential_write"), us(5) + us(10), 1e-3);
}

TEST(Rates, ReductionsCombine) {
  const model::CacheRates rates = {1, 50, 25, 10, 5, 40, 8};
  // A copy into the slot, then a reduction of the own vector and the other slot into the result.
  EXPECT_NEAR(run(machine(rates, 0), Collective::allreduce, "all_read"), us(5) + us(40) + us(8), 1e-3);
}

TEST(Rates, MappedBuffersAreFetchedAtTheirSize) {
  model::CacheRates small = {1024, 50, 25, 10, 5, 40, 8}, large = small;
  large.bytes = 2 * bytes;
  large.fetch_gbs = 4;
  Machine on = machine(small, 0);
  on.table.caches.push_back(large);
  on.table.thresholds.direct_bytes = 0;
  // A rank has a buffer of 1 MiB and a second one: the fetch has the rate of the larger size or one in between.
  const double took = run(on, Collective::allgather, "ring_source_read", AccessMode::direct);
  EXPECT_GT(took, us(10));
  EXPECT_LE(took, us(4) + us(25) + 1e-3);
}

TEST(Rates, KernelCopiesHaveTheirOwnBySize) {
  Machine on = machine({1, 50, 25, 10, 5, 40, 8, 16}, 1);
  on.table.thresholds.direct_bytes = 0;
  on.table.access[size_t(model::Mechanism::cma)].page_us = 0;
  EXPECT_NEAR(run(on, Collective::bcast, "flat_read", AccessMode::remote), us(16), 1e-3);
  // The copied data is combined at the rate of a core's own data; the result is stored concurrently.
  on.table.overlap = 0;
  EXPECT_NEAR(run(on, Collective::reduce, "flat", AccessMode::remote), us(16) + us(40) + us(25), 1e-3);
}

TEST(Rates, KernelCopiesKeepTheirRateIfSizesWereNotMeasured) {
  Machine on = machine({1, 50, 25, 10, 5, 40, 8}, 1);
  on.table.thresholds.direct_bytes = 0;
  model::Access& cma = on.table.access[size_t(model::Mechanism::cma)];
  cma.bandwidth_gbs = model::ByDistance::all(12);
  cma.page_us = 0;
  EXPECT_NEAR(run(on, Collective::bcast, "flat_read", AccessMode::remote), us(12), 1e-3);
  EXPECT_NEAR(run(on, Collective::bcast, "sequential_write", AccessMode::remote), us(12), 1e-3);
}

}  // namespace
}  // namespace coll::sim
