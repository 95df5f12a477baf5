// SPDX-License-Identifier: BSD-3-Clause
// What a machine's table says: the rows that `collctl calibrate` chose by measurement, and the prices of its parameters.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model/candidates.h"
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
  // The table of this machine, or the nearest one that the library brings.
  Prices(std::shared_ptr<const model::Table> own, const model::Fingerprint& hardware, const topo::Hierarchy& hierarchy)
      : own_(std::move(own)), hardware_(hardware), hierarchy_(&hierarchy) {}

  // The cheapest ways to serve the largest vector of the size class, best first, so that one plan serves the whole class.
  // None of them is completed.
  const std::vector<Choice>& find(const Situation& situation);
  // The table's name; "" before the first price.
  const std::string& table_name() const { return table_name_; }

 private:
  // How the ranks see each other's buffers.
  enum class Sight : uint8_t { staged, mapped, kernel_or_staged, kernel };
  struct Book {
    model::Table table;
    model::Prices prices;
    Book(model::Table of, const topo::Hierarchy& hierarchy, std::span<const model::Mechanism> mechanisms)
        : table(std::move(of)), prices(table, hierarchy, mechanisms) {}
  };
  static Sight sight_of(const Situation& situation);
  const model::Prices& book_for(const Situation& situation, Sight sight);
  model::Table table_for(const Situation& situation) const;

  std::shared_ptr<const model::Table> own_;
  model::Fingerprint hardware_;
  const topo::Hierarchy* hierarchy_;
  std::string table_name_;
  std::map<Sight, std::unique_ptr<const Book>> books_;
  // By collective, size class, whether elements have 16 bits, and sight.
  std::map<std::tuple<plan::Collective, int, bool, Sight>, std::vector<Choice>> known_;
};

}  // namespace coll::tune
