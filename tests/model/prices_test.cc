// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm of the library has a price, and prices are consistent: more bytes cost at least as much, parameters
// stay in range.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "algo/registry.h"
#include "machines.h"
#include "model/prices.h"

namespace coll::model {
namespace {

TEST(Prices, EveryRegisteredAlgorithmHasARow) {
  for (const algo::Algorithm& algorithm : algo::algorithms())
    EXPECT_NE(find_row(plan::name(algorithm.collective), algorithm.name), nullptr)
        << plan::name(algorithm.collective) << " " << algorithm.name;
}

TEST(Prices, RowsAreUniqueAndTagged) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const Row& row : rows()) {
    EXPECT_TRUE(seen.insert({row.collective, row.algorithm}).second) << row.collective << " " << row.algorithm;
    EXPECT_FALSE(row.source.empty());
    EXPECT_EQ(row.row.substr(0, row.row.find(' ')), row.collective);
    EXPECT_EQ(find_row(row.collective, row.algorithm), &row);
  }
}

TEST(Prices, AreFiniteOnEveryMachineAndGrowWithTheVector) {
  for (const std::string& name : machine_names())
    for (int ranks : {1, 2, 3, 16, 61}) {
      const testing::Placed on(name, ranks);
      for (const Row& row : rows()) {
        double before = 0;
        for (double bytes : {64.0, 4096.0, 262144.0, 4194304.0}) {
          const Priced priced = price(row, on.table, on.hierarchy, bytes);
          if (priced.row == nullptr) continue;  // needs a mechanism that the machine lacks
          const double us = priced.terms.total_us();
          EXPECT_TRUE(std::isfinite(us) && us >= 0)
              << name << " " << row.collective << " " << row.algorithm << " " << ranks;
          // The step from staged to direct may save a little.
          EXPECT_GE(us, 0.5 * before) << name << " " << row.collective << " " << row.algorithm << " " << bytes;
          EXPECT_GE(priced.knobs.k, 1);
          EXPECT_LT(priced.knobs.k, std::max(ranks, 2));
          EXPECT_LT(priced.knobs.chunk_bytes, bytes);
          before = us;
        }
      }
    }
}

TEST(Prices, RankingIsBestFirstAndWhole) {
  const testing::Placed on("epyc-2p", 64), flat("knl", 64);
  for (const Priced& priced : rank_choices("scatter", flat.table, flat.hierarchy, 65536))
    EXPECT_NE(priced.row->algorithm, "hierarchical");  // one NUMA node: nothing to split
  const auto choices = rank_choices("allreduce", on.table, on.hierarchy, 65536);
  size_t expected = 0;
  for (const Row& row : rows()) expected += row.collective == "allreduce";
  EXPECT_EQ(choices.size(), expected);
  for (size_t i = 1; i < choices.size(); ++i) EXPECT_LE(choices[i - 1].terms.total_us(), choices[i].terms.total_us());
}

TEST(Prices, ShortVectorsAreStaged) {
  const testing::Placed on("knl", 64);
  EXPECT_EQ(price(*find_row("bcast", "flat_read"), on.table, on.hierarchy, 512).mechanism, Mechanism::shared_memory);
  EXPECT_EQ(price(*find_row("scatter", "throttled_read"), on.table, on.hierarchy, 4 << 20).mechanism, Mechanism::cma);
}

}  // namespace
}  // namespace coll::model
