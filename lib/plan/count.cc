// SPDX-License-Identifier: BSD-3-Clause
#include "plan/count.h"

#include "plan/check.h"
#include "plan/layout.h"
#include "plan/machine.h"
#include "plan/schedule.h"

namespace coll::plan {

namespace {

class Counter {
 public:
  Counter(const Layout& layout, AccessMode access)
      : layout_(layout),
        plan_(layout.plan()),
        access_(access),
        decisions_(size_t(plan_.ranks) * plan_.views.size(),
                   access == AccessMode::staged ? Decision::staged : Decision::direct),
        flows_(size_t(plan_.ranks) * size_t(plan_.ranks)) {
    counts_.ranks.resize(size_t(plan_.ranks));
  }

  // Observer.
  bool publish(const LaneState&, const Step&) { return true; }
  bool post(const LaneState&, const Step&, uint32_t, int64_t) { return true; }
  bool met(const LaneState&, const Step&, uint32_t, int64_t) { return true; }
  bool owns(const LaneState& lane, const Step& step, bool& runs) {
    bool direct = plan_.views[step.view].buffer != Buffer::none && access_ != AccessMode::staged;
    // A buffer that the rank does not have cannot be direct.
    if (direct) direct = layout_.has(plan_.views[step.view].buffer, lane.rank);
    runs = direct == (step.when == When::direct);
    return true;
  }

  bool transfer(const LaneState& lane, const Step& step, const Extent& extent) {
    const Operand* to = plan_.program(lane.rank).operands.data() + step.operand;
    const Operand* from = to + step.destinations;
    const uint64_t bytes = extent.length * layout_.element_bytes() * step.blocks;
    const auto cell = [&](const Operand& operand) {
      return layout_.find<false>(operand, lane.rank, extent, lane.index, decisions_).cell;
    };
    // The executor skips copies whose source and destination are the same memory.
    bool needed[2] = {true, step.destinations == 2};
    if (step.sources == 1)
      for (int d = 0; d < step.destinations; ++d) needed[d] = cell(to[d]) != cell(from[0]);
    if (!needed[0] && !needed[1]) return true;

    Traffic work, bounces;
    work.loaded = bytes * step.sources;
    for (int d = 0; d < step.destinations; ++d)
      if (needed[d]) work.stored += bytes;
    if (access_ == AccessMode::remote) add_kernel_copies(lane, step, to, from, bytes, bounces);
    counts_.ranks[lane.rank] += work;
    counts_.ranks[lane.rank] += bounces;
    if (step.kind == Kind::copy) counts_.copied += work;
    counts_.copied += bounces;

    for (int s = 0; s < step.sources; ++s)
      for (int d = 0; d < step.destinations; ++d)
        if (needed[d] && (d == 0 || !needed[0] || owner(to[d], lane) != owner(to[0], lane)))
          flows_[size_t(owner(from[s], lane)) * size_t(plan_.ranks) + size_t(owner(to[d], lane))] += bytes;
    return true;
  }

  Counts finish(const DistanceClass& distance, uint64_t steps) {
    for (const Traffic& traffic : counts_.ranks) counts_.total += traffic;
    for (int a = 0; a < plan_.ranks; ++a)
      for (int b = 0; b < plan_.ranks; ++b) {
        uint64_t bytes = flows_[size_t(a) * size_t(plan_.ranks) + size_t(b)];
        if (a == b || bytes == 0) continue;
        size_t distance_class = distance ? distance(a, b) : 0;
        if (counts_.by_distance.size() <= distance_class) counts_.by_distance.resize(distance_class + 1);
        counts_.by_distance[distance_class].messages++;
        counts_.by_distance[distance_class].bytes += bytes;
        counts_.messages++;
      }
    counts_.steps = steps;
    return std::move(counts_);
  }

 private:
  static int owner(const Operand& operand, const LaneState& lane) {
    return operand.space == Space::view ? operand.rank : lane.rank;
  }
  // Another rank's buffer, which only a kernel-assisted copy can access.
  bool remote(const Operand& operand, const LaneState& lane) const {
    return operand.space == Space::view && operand.rank != lane.rank &&
           plan_.views[operand.view].buffer != Buffer::none;
  }
  void add_kernel_copies(const LaneState& lane, const Step& step, const Operand* to, const Operand* from,
                         uint64_t bytes, Traffic& traffic) const {
    if (step.kind == Kind::copy) {
      // One kernel-assisted copy serves one destination.
      if (step.destinations == 2 && remote(from[0], lane)) traffic.loaded += bytes;
      return;
    }
    uint64_t bounces = 0;
    for (int s = 0; s < step.sources; ++s) bounces += remote(from[s], lane);
    // The result is made in local memory first, and then copied to the remote destination.
    if (remote(to[0], lane)) bounces++;
    traffic.loaded += bounces * bytes;
    traffic.stored += bounces * bytes;
    if (step.destinations == 2 && remote(to[1], lane)) traffic.loaded += bytes;
  }

  const Layout& layout_;
  const Plan& plan_;
  AccessMode access_;
  std::vector<Decision> decisions_;
  std::vector<uint64_t> flows_;  // bytes by [from * ranks + to]
  Counts counts_;
};

}  // namespace

const char* name(AccessMode access) {
  switch (access) {
    case AccessMode::direct: return "mapped";
    case AccessMode::remote: return "copy";
    case AccessMode::staged: return "shm";
  }
  return "?";
}

Counts count(const Plan& plan, const Shape& shape, size_t element_bytes, AccessMode access,
             const DistanceClass& distance, bool in_place) {
  Counts refused;
  refused.problem = element_bytes == 0 ? "elements of 0 bytes" : check_form(plan);
  if (!refused.problem.empty()) return refused;
  if (plan.irregular != (shape.by != Shape::By::all))
    return refused.problem = "the lengths of the pieces do not fit the plan", refused;
  Layout layout(plan, shape, element_bytes, in_place);
  Machine machine(layout);
  machine.reset();
  Counter counter(layout, access);
  Scheduler({Policy::run_ahead}, machine).run(counter);
  for (const LaneState& lane : machine.lanes())
    if (!lane.ended()) {
      refused.problem = "deadlock: rank " + std::to_string(lane.rank) + " does not end";
      return refused;
    }
  return counter.finish(distance, machine.steps());
}

}  // namespace coll::plan
