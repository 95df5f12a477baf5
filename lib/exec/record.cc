// SPDX-License-Identifier: BSD-3-Clause
#include "exec/record.h"

#include <cstdio>
#include <utility>

#include "plan/trace_events.h"
#include "sync/clock.h"

namespace coll::exec {

using plan::Kind;

namespace {

constexpr uint32_t most_lanes = 16;  // rows of a timeline that each rank has

std::string us(int64_t ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(ns / 1000), static_cast<long long>(ns % 1000));
  return text;
}

}  // namespace

void Record::begin(const Run* of, const plan::Plan& plan, int rank) {
  of_ = of;
  plan_ = &plan;
  rank_ = rank;
  boxes_.clear();
  blocked_ns_.assign(plan.program(rank).lanes.size(), 0);
}

void Record::done(uint32_t lane, uint32_t step, uint64_t iteration, int64_t begin_ns, size_t bytes,
                  const std::string& flag) {
  boxes_.push_back({lane, step, iteration, begin_ns, sync::now_ns(), bytes, flag});
}

void Record::blocked(uint32_t lane) {
  if (blocked_ns_[lane] == 0) blocked_ns_[lane] = sync::now_ns();
}

int64_t Record::waited(uint32_t lane) { return std::exchange(blocked_ns_[lane], 0); }

std::string Record::events() const {
  if (plan_ == nullptr) return "";
  plan::TraceEvents events(*plan_);
  const auto row = [&](uint32_t lane) { return uint32_t(rank_) * most_lanes + lane; };
  for (uint32_t lane = 0; lane < blocked_ns_.size(); lane++) events.name_row(row(lane), rank_, lane);
  for (const Box& box : boxes_) {
    const plan::Step& step = plan_->program(rank_).lanes[box.lane].steps[box.step];
    const std::string flag = "\"" + box.flag + "\"";
    if (step.kind == Kind::post) {
      // A waiting rank may see the post before this rank reads the clock again.
      events.arrow_begins(row(box.lane), flag, us(box.begin_ns));
      continue;
    }
    events.slice(row(box.lane), rank_, step, us(box.begin_ns), us(box.end_ns - box.begin_ns), box.iteration, box.bytes);
    if (step.kind == Kind::wait) events.arrow_ends(row(box.lane), flag, us(box.end_ns));
  }
  return events.text();
}

}  // namespace coll::exec
