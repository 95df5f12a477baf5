// SPDX-License-Identifier: BSD-3-Clause
// Every variable that libcoll, its shims and its tools read.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace coll::config {

struct Variable {
  const char* name;
  const char* takes;
  const char* unset;  // what holds without it
  const char* meaning;
  bool in_file = true;  // may stand in a configuration file too
};

std::span<const Variable> variables();
// Null for a name that is none of theirs.
const Variable* find(std::string_view name);

// The variable that somebody who wrote `name` probably meant; "" when none is near.
std::string nearest(std::string_view name);

}  // namespace coll::config
