// SPDX-License-Identifier: BSD-3-Clause
// The search finds from CMA Table IV the throttle that the paper measured.
#include <gtest/gtest.h>

#include "machines.h"
#include "model/prices.h"
#include "throttle.h"

namespace coll::model {
namespace {

constexpr double kib = 1024, mib = 1024 * kib;

struct Case {
  const char* machine;
  int ranks, k;
  double estimate;
};
constexpr Case cases[] = {{"knl", 64, 8, 6.7}, {"broadwell", 28, 4, 4.0}, {"power8", 20, 10, 31}};

TEST(Throttle, OfLargeMessagesIsThatOfThePaper) {
  for (const Case& of : cases) {
    const testing::Placed on(of.machine, of.ranks);
    const Setting cma(on.table, on.hierarchy, Mechanism::cma);
    for (double bytes : {1 * mib, 4 * mib, 16 * mib})
      EXPECT_EQ(best_throttle(cma, bytes).k, of.k) << of.machine << bytes;
    EXPECT_NEAR(throttle_estimate(cma), of.estimate, 0.06 * of.estimate) << of.machine;
  }
}

// The throttle is no constant: other parameters give another one.
TEST(Throttle, FollowsTheParameters) {
  testing::Placed on("knl", 64);
  Access& cma = on.table.access[size_t(Mechanism::cma)];
  cma.gamma.quadratic /= 100;
  cma.gamma.linear = 0;
  EXPECT_EQ(best_throttle(Setting(on.table, on.hierarchy, Mechanism::cma), 4 * mib).k, 64);
  cma.gamma = {1, 4};
  EXPECT_LE(best_throttle(Setting(on.table, on.hierarchy, Mechanism::cma), 4 * mib).k, 3);
}

// With one socket, all 20 ranks of Power8 would read concurrently; with two, the lock alone limits them.
TEST(Throttle, StaysWithinOneSocket) {
  testing::Placed on("power8", 20);
  const Setting cma(on.table, on.hierarchy, Mechanism::cma);
  EXPECT_LT(scatter_throttled_read(cma, 4 * mib, {.k = 10}).total_us(),
            scatter_throttled_read(cma, 4 * mib, {.k = 20}).total_us());
  on.table.fingerprint.sockets = 1;
  on.table.access[size_t(Mechanism::cma)].gamma.across = 1;
  EXPECT_EQ(best_throttle(cma, 4 * mib).k, 20);
}

// Nothing limits how many ranks access one rank concurrently.
bool is_parallel(const Priced& priced) {
  const std::string_view name = priced.row->algorithm;
  return name == "parallel_read" || name == "parallel_write" || name == "grouped";
}

TEST(Scatter, LargeMessagesAreThrottledAndSmallOnesAreNot) {
  for (const Case& of : cases) {
    const testing::Placed on(of.machine, of.ranks);
    const Priced large = rank_choices("scatter", on.table, on.hierarchy, 4 * mib).front();
    EXPECT_EQ(large.row->algorithm, "throttled_read") << of.machine;
    EXPECT_EQ(large.knobs.k, of.k) << of.machine;
    EXPECT_EQ(large.mechanism, Mechanism::cma) << of.machine;
    const Priced small = rank_choices("scatter", on.table, on.hierarchy, 64).front();
    EXPECT_TRUE(is_parallel(small)) << of.machine << " " << small.row->algorithm;
    const Priced gathered = rank_choices("gather", on.table, on.hierarchy, 64).front();
    EXPECT_TRUE(is_parallel(gathered)) << of.machine << " " << gathered.row->algorithm;
  }
}

// The search changes from parallel reads at some size, and does not return to them.
TEST(Scatter, ParallelReadsAreForShortMessagesOnly) {
  for (const Case& of : cases) {
    const testing::Placed on(of.machine, of.ranks);
    double border = 0;
    for (double bytes = 64; bytes <= 16 * mib; bytes *= 2) {
      const bool parallel = is_parallel(rank_choices("scatter", on.table, on.hierarchy, bytes).front());
      if (bytes <= 256) { EXPECT_TRUE(parallel) << of.machine << " " << bytes; }
      if (bytes >= 8 * kib) { EXPECT_FALSE(parallel) << of.machine << " " << bytes; }
      if (parallel) border = bytes;
    }
    std::printf("%-10s parallel reads up to %g bytes\n", of.machine, border);
  }
}

}  // namespace
}  // namespace coll::model
