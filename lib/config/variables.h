// SPDX-License-Identifier: BSD-3-Clause
// Every variable that libcoll, its shims and its tools read. libcoll(7) documents the same table; a test compares them.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace coll::config {

// One value that a variable takes, with its one meaning.
struct Value {
  const char* name;  // literal in lower case; a word in capitals stands for what the user writes
  const char* meaning;
};

struct Variable {
  static constexpr int most_values = 7;

  const char* name;
  const char* unset;    // the value in effect when the variable is not set; "" if there is none
  const char* meaning;  // what the variable controls
  const char* read;     // which program reads it, and when
  Value values[most_values];
  bool in_file = true;  // false: only the environment can set it

  std::span<const Value> all_values() const;
  // The names of the values, separated by ", ".
  std::string takes() const;
};

std::span<const Variable> variables();
// Null if no variable has this name.
const Variable* find(std::string_view name);

// The variable whose name is most similar to `name`; "" if none is similar.
std::string nearest(std::string_view name);

}  // namespace coll::config
