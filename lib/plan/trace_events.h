// SPDX-License-Identifier: BSD-3-Clause
// The steps of a plan as events of Chrome's trace format, which Perfetto and chrome://tracing open: one process for the
// plan, a row for every lane of every rank, a slice for a step, an arrow from a post to the wait that it meets.
#pragma once

#include <cstdint>
#include <string>

#include "plan/plan.h"

namespace coll::plan {

class TraceEvents {
 public:
  // Adds the name of the process first. The plan must outlive the object.
  explicit TraceEvents(const Plan& plan);

  void name_row(uint32_t row, int rank, size_t lane);
  // Adds a step. Times are microseconds, as text, so that the caller chooses their precision.
  void slice(uint32_t row, int rank, const Step& step, const std::string& begin_us, const std::string& duration_us,
             uint64_t iteration, uint64_t bytes);
  // Add the two ends of an arrow, which have the same `id`, a JSON value.
  void arrow_begins(uint32_t row, const std::string& id, const std::string& at_us);
  void arrow_ends(uint32_t row, const std::string& id, const std::string& at_us);

  // All events so far, one per line, separated by commas.
  const std::string& text() const { return text_; }

 private:
  void add(const std::string& event);

  const Plan& plan_;
  std::string text_;
};

}  // namespace coll::plan
