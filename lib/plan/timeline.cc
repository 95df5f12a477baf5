// SPDX-License-Identifier: BSD-3-Clause
#include "plan/timeline.h"

#include <algorithm>

#include "plan/check.h"
#include "plan/layout.h"
#include "plan/machine.h"
#include "plan/schedule.h"

namespace coll::plan {

namespace {

// A lane's clock advances by the cost of its steps; a wait ends flag_units after the first post that meets it. As in
// the verifier, the first such post does not depend on the order in which lanes run.
class Recorder {
 public:
  Recorder(const Layout& layout, const Machine& machine, AccessMode access, Timeline& timeline)
      : layout_(layout),
        direct_(access != AccessMode::staged),
        clocks_(machine.lanes().size()),
        posts_(size_t(layout.plan().ranks) * layout.plan().flags),
        timeline_(timeline) {
    for (size_t range = 0; range < layout.plan().ranges.size(); ++range)
      largest_ = std::max(largest_, layout.geometry(uint16_t(range)).at(0).length);
  }

  bool publish(const LaneState& lane, const Step&) { return box(lane, Kind::publish, clock(lane), clock(lane)); }

  bool transfer(const LaneState& lane, const Step& step, const Extent& extent) {
    double begin = clock(lane);
    double copies = (step.sources + step.destinations) / 2.0 * double(extent.length * step.blocks) / double(largest_);
    clocks_[lane.id] += std::max(copies * copy_units, 0.1);
    return box(lane, step.kind, begin, clock(lane));
  }

  bool post(const LaneState& lane, const Step&, uint32_t flag, int64_t value) {
    double begin = clock(lane);
    clocks_[lane.id] += post_units;
    posts_[flag].push_back({value, lane.id, clock(lane)});
    return box(lane, Kind::post, begin, clock(lane));
  }

  bool met(const LaneState& lane, const Step&, uint32_t flag, int64_t value) {
    const auto& posts = posts_[flag];
    auto post =
        std::lower_bound(posts.begin(), posts.end(), value, [](const Post& p, int64_t v) { return p.value < v; });
    double begin = clock(lane), seen = post->time + flag_units;
    clocks_[lane.id] = std::max(begin, seen);
    timeline_.arrows.push_back({post->lane, lane.id, post->time, clock(lane), seen > begin});
    return seen <= begin || box(lane, Kind::wait, begin, clock(lane));
  }

  bool owns(const LaneState& lane, const Step& step, bool& runs) {
    Buffer buffer = layout_.plan().views[step.view].buffer;
    bool direct = direct_ && buffer != Buffer::none && layout_.has(buffer, lane.rank);
    runs = direct == (step.when == When::direct);
    return true;
  }

 private:
  struct Post {
    int64_t value;
    uint32_t lane;
    double time;
  };
  double clock(const LaneState& lane) const { return clocks_[lane.id]; }
  bool box(const LaneState& lane, Kind kind, double begin, double end) {
    timeline_.boxes.push_back({lane.id, lane.at, lane.index, kind, lane.rank, begin, end});
    timeline_.end = std::max(timeline_.end, end);
    return true;
  }

  const Layout& layout_;
  bool direct_;
  size_t largest_ = 1;
  std::vector<double> clocks_;
  std::vector<std::vector<Post>> posts_;
  Timeline& timeline_;
};

}  // namespace

Timeline timeline(const Plan& plan, const Shape& shape, size_t element_bytes, AccessMode access) {
  Timeline timeline;
  timeline.problem = element_bytes == 0 ? "elements of 0 bytes" : check_form(plan);
  if (!timeline.problem.empty()) return timeline;
  Layout layout(plan, shape, element_bytes, false);
  Machine machine(layout);
  machine.reset();
  for (int rank = 0; rank <= plan.ranks; ++rank)
    timeline.first_lane.push_back(rank < plan.ranks ? machine.first_lane(rank) : uint32_t(machine.lanes().size()));
  Recorder recorder(layout, machine, access, timeline);
  Scheduler({Policy::run_ahead}, machine).run(recorder);
  for (const LaneState& lane : machine.lanes())
    if (!lane.ended()) timeline.problem = "deadlock: rank " + std::to_string(lane.rank) + " does not end";
  return timeline;
}

}  // namespace coll::plan
