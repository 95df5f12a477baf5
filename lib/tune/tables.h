// SPDX-License-Identifier: BSD-3-Clause
// What a machine's table says: the rows that `collctl calibrate` chose by measurement, and the prices of its parameters.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>

#include "model/table.h"
#include "topo/hierarchy.h"
#include "tune/choice.h"

namespace coll::tune {

// The book of calibrated rows.
class Calibrated {
 public:
  // Both must outlive it.
  Calibrated(const model::Table& table, const topo::Hierarchy& hierarchy) : table_(&table), hierarchy_(&hierarchy) {}

  struct Found {
    const model::Chosen* row = nullptr;
    Choice choice;           // not completed
    bool exact = false;      // the row is of as many ranks
    double expected_us = 0;  // of the situation's bytes, as calibration measured; 0: unknown
  };
  // A row of as many ranks, else of about as many.
  std::optional<Found> find(const Situation& situation) const;

  // The latency path serves payloads up to this size, all that one rank shows to others; nullopt: no row says.
  std::optional<size_t> latency_path_bytes(plan::Collective collective, int ranks) const;

  // Whether some row of so many ranks has a measured time.
  bool knows_times(int ranks) const;

 private:
  std::span<const model::Chosen> rows(plan::Collective collective, int ranks) const;
  const model::Chosen* row_for(const Situation& situation, int ranks) const;
  bool usable(const model::Chosen& row, const Situation& situation) const;
  int nearest_ranks(plan::Collective collective, int ranks) const;

  const model::Table* table_;
  const topo::Hierarchy* hierarchy_;
};

// The book of prices. Keeps what was priced, so it is used by one thread at a time.
class Prices {
 public:
  // The cheapest algorithm of the largest vector of the size class, so that one plan serves the whole class.
  const std::optional<Choice>& find(const Situation& situation, const model::Table& table,
                                    const topo::Hierarchy& hierarchy);

 private:
  // By collective, size class, whether elements have 16 bits, and whether kernel-assisted copies are possible.
  std::map<std::tuple<plan::Collective, int, bool, bool>, std::optional<Choice>> known_;
};

}  // namespace coll::tune
