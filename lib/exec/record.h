// SPDX-License-Identifier: BSD-3-Clause
// The steps of one operation with their times, for a timeline. A team that has a record keeps the steps of the
// operation that began last; a team without one tests a pointer when an operation begins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace coll::exec {

class Run;

class Record {
 public:
  // Begins to record the operation `of`; discards earlier steps. The plan must live until events() is called.
  void begin(const Run* of, const plan::Plan& plan, int rank);
  bool is_of(const Run* run) const { return run == of_; }

  // Adds a step that is done and began at begin_ns of sync/clock.h. `flag`: identifies the flag of a post or a wait
  // among all ranks; "" for other steps.
  void done(uint32_t lane, uint32_t step, uint64_t iteration, int64_t begin_ns, size_t bytes,
            const std::string& flag = "");
  // blocked() notes since when the lane waits. waited() returns that time and clears it; 0 if the lane did not wait.
  void blocked(uint32_t lane);
  int64_t waited(uint32_t lane);

  // Returns this rank's part of a file in the format of chrome://tracing: one event per line, with commas between.
  std::string events() const;

 private:
  struct Box {
    uint32_t lane, step;
    uint64_t iteration;
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
