// SPDX-License-Identifier: BSD-3-Clause
// The numbers of a table by name, as they are printed and as two tables are compared.
#pragma once

#include <string>
#include <vector>

#include "model/table.h"

namespace coll::tools {

struct NamedValue {
  std::string name, unit;
  double value = 0;
};

// Name of a value at one distance: "flag up to l3"; "flag" for the farthest distance.
std::string name_at(const std::string& name, topo::Distance distance);

// All numbers that a calibration sets. A distance is listed if it has a value of its own.
std::vector<NamedValue> named_values(const model::Table& table);

// Precision of a value: the relative half width of the interquartile range of its samples, or the relative residual of
// its fit; and the number of points that it is computed from.
struct Precision {
  std::string name;
  double spread = 0;
  int points = 0;
};

// One line for each value that has changed by more than its spread, and for each size class with another choice.
std::vector<std::string> changes(const model::Table& before, const model::Table& now,
                                 const std::vector<Precision>& precisions);

}  // namespace coll::tools
