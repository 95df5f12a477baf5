// SPDX-License-Identifier: BSD-3-Clause
// The critical path of one operation: the chain of steps, each of which the next one had to wait for, that ends with the
// last step of all. Its pieces follow each other without a gap: a shorter operation needs a shorter path.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/report/trace.h"

namespace coll::tools::report {

struct Hop {
  int row = 0;
  double begin_us = 0, end_us = 0;
  // Of a wait, which begins with the post that it met, perhaps of another row. Null: between two steps of the row.
  const Slice* step = nullptr;
};

struct CriticalPath {
  std::vector<Hop> hops;            // in the order of time
  double begin_us = 0, end_us = 0;  // 0: the operation's begin
  const Slice* lost = nullptr;      // a wait of which the file has no post: what is before it is unknown
};

CriticalPath critical_path(const Trace& trace);

}  // namespace coll::tools::report
