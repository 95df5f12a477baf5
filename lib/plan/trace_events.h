// SPDX-License-Identifier: BSD-3-Clause
// A plan's steps as events of Chrome's trace format, which Perfetto and chrome://tracing open: one process for the plan, a
// row for every lane of every rank, a slice for a step, an arrow from a post to the wait that it ends.
#pragma once

#include <cstdint>
#include <string>

#include "plan/plan.h"

namespace coll::plan {

class TraceEvents {
 public:
  // Begins with the name of the process. The plan must live as long.
  explicit TraceEvents(const Plan& plan);

  void name_row(uint32_t row, int rank, size_t lane);
  // Times are microseconds, as text: their precision is the caller's.
  void slice(uint32_t row, int rank, const Step& step, const std::string& begin_us, const std::string& duration_us,
             uint64_t pass, uint64_t bytes);
  // Both ends of an arrow have the same `id`, as JSON.
  void arrow_begins(uint32_t row, const std::string& id, const std::string& at_us);
  void arrow_ends(uint32_t row, const std::string& id, const std::string& at_us);

  // All events, one a line, with commas between.
  const std::string& text() const { return text_; }

 private:
  void add(const std::string& event);

  const Plan& plan_;
  std::string text_;
};

}  // namespace coll::plan
