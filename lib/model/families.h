// SPDX-License-Identifier: BSD-3-Clause
// What the texts found of families of processors, where it changes the built-in defaults.
#pragma once

#include <string_view>

#include "model/choose.h"

namespace coll::model {

struct Family {
  std::string_view word;  // of the processor's name; "" matches all
  std::string_view name;
  // Many readers of one line are served one after another, so that small broadcasts go by leaders, too. EPYC passes a line
  // on within an L3, where all may read that of the root (XHC V-C).
  bool lines_are_passed_on;
};

// The first whose word is in the processor's name.
const Family& family_of(std::string_view processor);

// choose() for processors of that family.
Choice choose(const Question& question, const Family& family);

}  // namespace coll::model
