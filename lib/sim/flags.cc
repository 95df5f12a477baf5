// SPDX-License-Identifier: BSD-3-Clause
#include "sim/flags.h"

#include <algorithm>
#include <map>

namespace coll::sim {

using plan::Kind;
using plan::Step;
using topo::Distance;

Flags::Flags(const plan::Machine& machine, const topo::Hierarchy& hierarchy, const model::Table& table)
    : hierarchy_(hierarchy),
      table_(table),
      flags_per_rank_(machine.plan().flags),
      lines_(size_t(machine.plan().ranks) * machine.plan().flags) {
  std::map<std::pair<int64_t, uint32_t>, uint32_t> copy_of;  // key: (rank, or -1 - L3; flag)
  const auto find = [&](int64_t who, uint32_t flag) {
    return copy_of.try_emplace({who, flag}, uint32_t(copy_of.size())).first->second;
  };
  for (const plan::LaneState& lane : machine.lanes()) {
    first_step_.push_back(uint32_t(waits_.size()));
    for (uint32_t at = 0; at < lane.size; ++at) {
      const Step& step = lane.steps[at];
      Waits& waits = waits_.emplace_back();
      if (step.kind != Kind::wait) continue;
      const uint32_t flag = uint32_t(step.rank) * uint32_t(flags_per_rank_) + step.flag;
      const int l3 = hierarchy.place(lane.rank).l3;
      waits.own = find(lane.rank, flag);
      waits.shared = l3 < 0 ? waits.own : find(-1 - l3, flag);
    }
  }
  copies_.resize(copy_of.size());
}

void Flags::post(uint32_t flag, int64_t value, double now) { lines_[flag].posts.push_back({value, now}); }

Flags::Seen Flags::see(const plan::LaneState& lane, uint32_t flag, int64_t value, double now) {
  Line& line = lines_[flag];
  const auto met = std::lower_bound(line.posts.begin(), line.posts.end(), value,
                                    [](const Post& post, int64_t v) { return post.value < v; });
  const Waits& waits = waits_[first_step_[lane.id] + lane.at];
  Copy& own = copies_[waits.own];
  if (own.value >= value) return {std::max(now, own.at), met->at};

  const int writer = int(flag) / flags_per_rank_;
  Copy& shared = copies_[waits.shared];
  const double look = table_.look_ns / 1000;
  double at;
  if (writer == lane.rank) {
    at = std::max(now, met->at);
  } else if (waits.shared != waits.own && shared.value >= value) {
    at = std::max(now + look, shared.at + table_.flag_ns[Distance::l3] / 1000);
  } else {
    // A reader that reads late finds the line posted already; several such reads overlap.
    const double latency = table_.flag_ns[hierarchy_.distance(writer, lane.rank)] / 1000;
    const double asked = std::max(now, met->at), begin = std::max(asked, line.free_at);
    line.free_at = begin + table_.line_ns / 1000;
    at = std::max(now + look, met->at + latency) + (begin - asked);
    shared = {met->value, at};
  }
  own = {met->value, at};
  return {at, met->at};
}

}  // namespace coll::sim
