// SPDX-License-Identifier: BSD-3-Clause
// Derives from the facts what they mean for libcoll, and the command that fixes each fault.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/facts.h"

namespace coll::tools {

struct Finding {
  // fine: nothing to do. slower: libcoll works, but slower than it could. broken: libcoll cannot work.
  enum State { fine, slower, broken };
  std::string check;  // name, such as "kcoll" or "cma"
  State state;
  std::string found;  // the state, and what it means
  std::string fix;    // shell command; "": there is nothing to do
};

const char* name(Finding::State state);
std::vector<Finding> diagnose(const Facts& facts);

}  // namespace coll::tools
