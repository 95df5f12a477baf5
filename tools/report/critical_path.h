// SPDX-License-Identifier: BSD-3-Clause
// The critical path of one operation: a chain of steps, each of which delayed the next one, that ends with the last
// step of all ranks. The chain has no gaps: a shorter operation needs a shorter path.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/report/trace.h"

namespace coll::tools::report {

struct Hop {
  int row = 0;
  double begin_us = 0, end_us = 0;
  // If it is a wait, the hop begins with the post that ended it, which may be in another row. Null: a gap between two
  // steps of the row.
  const Slice* step = nullptr;
};

struct CriticalPath {
  std::vector<Hop> hops;                  // in chronological order
  double begin_us = 0, end_us = 0;        // 0: the start of the operation
  const Slice* unmatched_wait = nullptr;  // a wait without a post in the file: its predecessors are unknown
};

CriticalPath critical_path(const Trace& trace);

}  // namespace coll::tools::report
