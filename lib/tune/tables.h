// SPDX-License-Identifier: BSD-3-Clause
// Two books: the rows of a table, which `collctl calibrate` measured, and the prices that follow from a table's
// parameters.
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
  // Both must outlive the object.
  Calibrated(const model::Table& table, const topo::Hierarchy& hierarchy) : table_(&table), hierarchy_(&hierarchy) {}

  struct Found {
    const model::Chosen* row = nullptr;
    Choice choice;           // not completed
    bool exact = false;      // the row has the situation's number of ranks
    double expected_us = 0;  // the measured time, interpolated to the situation's bytes; 0: unknown
  };
  // A row with the situation's number of ranks, or else with a similar number.
  std::optional<Found> find(const Situation& situation) const;

  // The maximum payload of the latency path (all bytes that one rank shows to others) according to the rows; nullopt
  // without rows.
  std::optional<size_t> latency_path_bytes(plan::Collective collective, int ranks) const;

  // Whether any row of `ranks` ranks has a measured time.
  bool knows_times(int ranks) const;

 private:
  std::span<const model::Chosen> rows(plan::Collective collective, int ranks) const;
  const model::Chosen* row_for(const Situation& situation, int ranks) const;
  bool usable(const model::Chosen& row, const Situation& situation) const;
  int nearest_ranks(plan::Collective collective, int ranks) const;

  const model::Table* table_;
  const topo::Hierarchy* hierarchy_;
};

// The book of prices. Caches them, so it may be used by one thread at a time.
class Prices {
 public:
  // `own`: the table of this machine; null: the built-in table nearest to `hardware` is used.
  Prices(std::shared_ptr<const model::Table> own, const model::Fingerprint& hardware, const topo::Hierarchy& hierarchy)
      : own_(std::move(own)), hardware_(hardware), hierarchy_(&hierarchy) {}

  // The cheapest candidates for the largest vector of the size class, cheapest first, so that one plan serves the whole
  // class. They are not completed (see complete()).
  const std::vector<Choice>& find(const Situation& situation);
  // The name of the table; "" before the first call of find().
  const std::string& table_name() const { return table_name_; }

 private:
  // How ranks access each other's buffers.
  enum class Access : uint8_t { staged, mapped, kernel_or_staged, kernel };
  struct Book {
    model::Table table;
    model::Prices prices;
    Book(model::Table of, const topo::Hierarchy& hierarchy, std::span<const model::Mechanism> mechanisms)
        : table(std::move(of)), prices(table, hierarchy, mechanisms) {}
  };
  static Access access_of(const Situation& situation);
  const model::Prices& book_for(const Situation& situation, Access access);
  model::Table table_for(const Situation& situation) const;

  std::shared_ptr<const model::Table> own_;
  model::Fingerprint hardware_;
  const topo::Hierarchy* hierarchy_;
  std::string table_name_;
  std::map<Access, std::unique_ptr<const Book>> books_;
  // By collective, size class, whether elements have 16 bits, and access.
  std::map<std::tuple<plan::Collective, int, bool, Access>, std::vector<Choice>> known_;
};

}  // namespace coll::tune
