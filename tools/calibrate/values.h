// SPDX-License-Identifier: BSD-3-Clause
// The numbers of a table by name, for people: as they are printed and as two tables are compared.
#pragma once

#include <string>
#include <vector>

#include "model/table.h"

namespace coll::tools {

struct NamedValue {
  std::string name, unit;
  double value = 0;
};

// A value that differs by distance: "flag up to l3"; that of the farthest is "flag".
std::string name_at(const std::string& name, topo::Distance distance);

// All that a calibration decides. A distance is named where it has a value of its own.
std::vector<NamedValue> named_values(const model::Table& table);

// What measuring tells of a value: half of what lies between the quartiles of its samples, or the residual of its fit,
// both relative; and how many points stand behind it.
struct Precision {
  std::string name;
  double spread = 0;
  int points = 0;
};

// One line for each value that differs by more than its spread, and for each class whose choice differs.
std::vector<std::string> changes(const model::Table& before, const model::Table& now,
                                 const std::vector<Precision>& precisions);

}  // namespace coll::tools
