// SPDX-License-Identifier: BSD-3-Clause
// The steps of one operation with their times, for a timeline. A team that has a record keeps those of the operation that
// began last; a team without one pays for a look at a pointer when an operation begins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace coll::exec {

class Run;

class Record {
 public:
  // `of` begins; what was kept is forgotten. The plan must live until events().
  void begin(const Run* of, const plan::Plan& plan, int rank);
  bool is_of(const Run* run) const { return run == of_; }

  // A step that is done, begun at begin_ns of sync/clock.h. `flag`: of a post or a wait, unique among all ranks; "" otherwise.
  void done(uint32_t lane, uint32_t step, uint64_t pass, int64_t begin_ns, size_t bytes, const std::string& flag = "");
  // The lane cannot go on; since when it could not. waited() gives that back, and forgets it; 0 when it did not wait.
  void blocked(uint32_t lane);
  int64_t waited(uint32_t lane);

  // Events of the format of chrome://tracing, each line one of them, with commas between: this rank's part of a file.
  std::string events() const;

 private:
  struct Box {
    uint32_t lane, step;
    uint64_t pass;
    int64_t begin_ns, end_ns;
    size_t bytes;
    std::string flag;
  };
  const Run* of_ = nullptr;
  const plan::Plan* plan_ = nullptr;
  int rank_ = 0;
  std::vector<Box> boxes_;
  std::vector<int64_t> blocked_ns_;  // by lane
};

}  // namespace coll::exec
