// SPDX-License-Identifier: BSD-3-Clause
// What the facts mean for libcoll, and the commands that fix what is wrong.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/facts.h"

namespace coll::tools {

struct Finding {
  // fine: nothing to do. slower: works without, but not as fast as it could. broken: libcoll cannot work.
  enum State { fine, slower, broken };
  std::string check;  // "kcoll", "cma" ...; in the order of diagnose()
  State state;
  std::string found;  // what is there, and what it means
  std::string fix;    // shell command; "" when there is nothing to do
};

const char* name(Finding::State state);
std::vector<Finding> diagnose(const Facts& facts);

}  // namespace coll::tools
