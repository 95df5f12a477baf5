// SPDX-License-Identifier: BSD-3-Clause
#include "sim/trace.h"

#include <cstdio>

#include "plan/trace_events.h"

namespace coll::sim {

namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", value);
  return text;
}

}  // namespace

std::string chrome_trace(const plan::Plan& plan, const Result& run, const std::string& about) {
  plan::TraceEvents events(plan);
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const uint32_t first = run.first_lane[size_t(rank)];
    for (uint32_t lane = first; lane < run.first_lane[size_t(rank) + 1]; ++lane)
      events.name_row(lane, rank, lane - first);
  }
  for (const Box& box : run.boxes) {
    if (box.kind == plan::Kind::post) continue;
    const size_t lane = box.lane - run.first_lane[size_t(box.rank)];
    const plan::Step& step = plan.program(box.rank).lanes[lane].steps[box.step];
    events.slice(box.lane, box.rank, step, number(box.begin_us), number(box.end_us - box.begin_us), box.index,
                 uint64_t(box.bytes));
  }
  int id = 0;
  for (const Arrow& arrow : run.arrows) {
    const std::string name = std::to_string(++id);
    events.arrow_begins(arrow.from_lane, name, number(arrow.from_us));
    events.arrow_ends(arrow.to_lane, name, number(arrow.to_us));
  }
  return "{\"displayTimeUnit\":\"ns\",\"otherData\":" + about + ",\"traceEvents\":[\n" + events.text() + "\n]}\n";
}

}  // namespace coll::sim
