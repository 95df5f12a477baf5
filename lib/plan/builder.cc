// SPDX-License-Identifier: BSD-3-Clause
#include "plan/builder.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "plan/geometry.h"

namespace coll::plan {

Step& LaneBuilder::append(Kind kind, Only only) {
  auto& steps = program_->lanes[lane_].steps;
  Step step;
  step.kind = kind;
  step.when = only.when;
  step.view = only.view;
  steps.push_back(step);
  return steps.back();
}

void LaneBuilder::operands(Step& step, std::span<const Operand> to, std::span<const Operand> from) {
  step.operand = uint32_t(program_->operands.size());
  step.destinations = uint8_t(to.size());
  step.sources = uint16_t(from.size());
  program_->operands.insert(program_->operands.end(), to.begin(), to.end());
  program_->operands.insert(program_->operands.end(), from.begin(), from.end());
}

void LaneBuilder::set_value(Step& step, Value value) {
  step.value = value.constant;
  step.add = value.add;
  step.within = value.within;
  if (value.add == Add::trips || value.within) step.range = value.range;
}

LaneBuilder& LaneBuilder::publish(uint16_t view) {
  append(Kind::publish, {When::always, view});
  return *this;
}

LaneBuilder& LaneBuilder::copy(uint16_t range, Operand to, Operand from, Only only) {
  Step& step = append(Kind::copy, only);
  step.range = range;
  operands(step, {&to, 1}, {&from, 1});
  return *this;
}

LaneBuilder& LaneBuilder::copy_result(uint16_t range, Operand to, Operand from, Only only) {
  copy(range, to, from, only);
  program_->lanes[lane_].steps.back().reused = false;
  return *this;
}

LaneBuilder& LaneBuilder::copy_blocks(int blocks, uint16_t range, Operand to, Operand from) {
  copy(range, to, from);
  program_->lanes[lane_].steps.back().blocks = uint16_t(blocks);
  return *this;
}

LaneBuilder& LaneBuilder::copy2(uint16_t range, Operand to, Operand to_too, Operand from, Only only) {
  Step& step = append(Kind::copy, only);
  step.range = range;
  Operand both[] = {to, to_too};
  operands(step, both, {&from, 1});
  return *this;
}

LaneBuilder& LaneBuilder::reduce(uint16_t range, std::span<const Operand> to, std::span<const Operand> from,
                                 Only only) {
  Step& step = append(Kind::reduce, only);
  step.range = range;
  operands(step, to, from);
  return *this;
}

LaneBuilder& LaneBuilder::reduce_from_right(uint16_t range, std::span<const Operand> to,
                                            std::span<const Operand> from) {
  reduce(range, to, from);
  program_->lanes[lane_].steps.back().from_right = from.size() > 2;
  return *this;
}

LaneBuilder& LaneBuilder::post(uint16_t flag, Value value, Only only) {
  Step& step = append(Kind::post, only);
  step.flag = flag;
  set_value(step, value);
  assert(value.constant <= int32_t(plan_->largest_value));
  return *this;
}

LaneBuilder& LaneBuilder::wait(int rank, uint16_t flag, Value value, Only only) {
  Step& step = append(Kind::wait, only);
  step.rank = uint16_t(rank);
  step.flag = flag;
  set_value(step, value);
  return *this;
}

LaneBuilder& LaneBuilder::loop(uint16_t range) {
  append(Kind::loop, {}).range = range;
  return *this;
}

LaneBuilder& LaneBuilder::end() {
  auto& steps = program_->lanes[lane_].steps;
  auto loop = std::find_if(steps.rbegin(), steps.rend(), [](const Step& s) { return s.kind == Kind::loop; });
  assert(loop != steps.rend());
  size_t begin = steps.size() - 1 - size_t(loop - steps.rbegin());
  Step& step = append(Kind::end, {});
  step.range = steps[begin].range;
  step.value = int32_t(begin) + 1;  // where the next iteration begins
  steps[begin].value = int32_t(steps.size());
  return *this;
}

Builder::Builder(Collective collective, std::string algorithm, int ranks, int root, int only_rank, bool irregular) {
  plan_.collective = collective;
  plan_.algorithm = std::move(algorithm);
  plan_.ranks = ranks;
  plan_.root = root;
  plan_.only_rank = only_rank;
  plan_.irregular = irregular;
  plan_.largest_value = 64 + 2 * uint32_t(ranks);
  plan_.programs.resize(only_rank < 0 ? size_t(ranks) : 1);
}

std::vector<int> Builder::ranks() const {
  if (plan_.only_rank >= 0) return {plan_.only_rank};
  std::vector<int> all(size_t(plan_.ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

uint16_t Builder::flag() { return plan_.flags++; }

uint16_t Builder::view(Buffer buffer, uint32_t slot_bytes, uint16_t depth, uint16_t blocks) {
  assert(depth != 0 && (depth & (depth - 1)) == 0);
  View view;
  view.buffer = buffer;
  view.flag = flag();
  view.depth = depth;
  view.blocks = blocks;
  const auto whole_lines = [](size_t bytes) {
    return uint32_t((bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes);
  };
  view.slot_bytes = whole_lines(slot_bytes);
  view.slot_offset = plan_.staging_bytes;
  plan_.staging_bytes += view.slot_bytes * depth * blocks;
  if (plan_.irregular && has_blocks(plan_.collective, buffer)) {
    view.table_offset = plan_.staging_bytes;
    plan_.staging_bytes += whole_lines(size_t(plan_.ranks) * sizeof(uint64_t));
  }
  plan_.views.push_back(view);
  return uint16_t(plan_.views.size() - 1);
}

uint16_t Builder::range(Range range) {
  auto found = std::find(plan_.ranges.begin(), plan_.ranges.end(), range);
  if (found != plan_.ranges.end()) return uint16_t(found - plan_.ranges.begin());
  plan_.ranges.push_back(range);
  if (range.chunk_bytes != 0 && (plan_.smallest_chunk_bytes == 0 || range.chunk_bytes < plan_.smallest_chunk_bytes))
    plan_.smallest_chunk_bytes = range.chunk_bytes;
  return uint16_t(plan_.ranges.size() - 1);
}

LaneBuilder Builder::lane(int rank) {
  Program& program = plan_.programs[plan_.only_rank < 0 ? size_t(rank) : 0];
  program.lanes.emplace_back();
  return LaneBuilder(plan_, program, program.lanes.size() - 1);
}

void Builder::parameter(const std::string& name, long long value) {
  if (!plan_.parameters.empty()) plan_.parameters += ' ';
  plan_.parameters += name + '=' + std::to_string(value);
}

Plan Builder::finish() { return std::move(plan_); }

}  // namespace coll::plan
