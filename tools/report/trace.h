// SPDX-License-Identifier: BSD-3-Clause
// A timeline file: the steps of all ranks, and which post ended which wait.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace coll::tools::report {

// A step. A row has the steps of one lane of a rank.
struct Slice {
  int row = 0;
  std::string kind;
  double begin_us = 0, us = 0;
  uint64_t iteration = 0, bytes = 0;  // iteration of the loop, "pass" in the file
  std::string text;
  double end_us() const { return begin_us + us; }
};

// Returns the rank of a row with the name "rank R lane L".
inline std::string rank_of(const std::string& row) { return row.substr(0, row.rfind(" lane ")); }

// A post, or the end of the wait that it ended.
struct End {
  int row = 0;
  double us = 0;
};

struct Trace {
  std::string name;
  std::map<int, std::string> rows;
  std::vector<Slice> slices;
  std::map<std::string, End> sources;
  std::vector<std::pair<std::string, End>> targets;
};

}  // namespace coll::tools::report
