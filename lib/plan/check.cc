// SPDX-License-Identifier: BSD-3-Clause
#include "plan/check.h"

#include <algorithm>

namespace coll::plan {

namespace {

std::string check_views(const Plan& plan) {
  for (size_t v = 0; v < plan.views.size(); ++v) {
    const View& view = plan.views[v];
    std::string who = "view " + std::to_string(v);
    if (view.depth == 0 || (view.depth & (view.depth - 1)) != 0)
      return who + ": the depth of its ring is not a power of two";
    if (view.buffer != Buffer::none && view.flag >= plan.flags)
      return who + ": is announced by a flag that does not exist";
    if (view.blocks != 1 && view.blocks != plan.ranks && has_blocks(plan.collective, view.buffer))
      return who + ": has neither one block a slot nor one for every rank";
    uint64_t end = uint64_t(view.slot_offset) + uint64_t(view.slot_bytes) * view.depth * view.blocks;
    if (end > plan.staging_bytes) return who + ": its ring ends beyond the staging of a rank";
    for (size_t w = 0; w < v; ++w) {
      const View& other = plan.views[w];
      uint64_t other_end = uint64_t(other.slot_offset) + uint64_t(other.slot_bytes) * other.depth * other.blocks;
      if (view.slot_offset < other_end && other.slot_offset < end)
        return who + ": its ring overlaps that of view " + std::to_string(w);
    }
  }
  return "";
}

std::string check_ranges(const Plan& plan) {
  for (size_t i = 0; i < plan.ranges.size(); ++i) {
    const Range& range = plan.ranges[i];
    const auto exists = [&](uint16_t rank) { return rank < plan.ranks || rank == any_rank; };
    if (range.is_piece() && !(has_pieces(plan.collective) && exists(range.sender) && exists(range.receiver)))
      return "range " + std::to_string(i) + ": names a piece that does not exist";
    if (range.part >= range.parts || range.span == 0 || range.sub + range.span > range.subs)
      return "range " + std::to_string(i) + ": names a block that does not exist";
  }
  return "";
}

// Whether the operand is another rank's buffer if its owner publishes the view as direct.
bool is_remote(const Plan& plan, int rank, const Operand& operand) {
  return operand.space == Space::view && operand.rank != rank && plan.views[operand.view].buffer != Buffer::none;
}

std::string check_direction(const Plan& plan, int rank, const Step& step, const Operand* operands) {
  for (int i = 0; i < step.destinations + step.sources; ++i) {
    if (!is_remote(plan, rank, operands[i])) continue;
    const bool writes = i < step.destinations;
    if (writes && plan.direction == Direction::read)
      return "writes another rank's buffer, and the plan claims only to read them";
    if (!writes && plan.direction == Direction::write)
      return "reads another rank's buffer, and the plan claims only to write them";
  }
  return "";
}

// The sources of a rank's reads, in order; consecutive reads of one source count as one.
std::vector<int> sources_in_order(const Plan& plan, int rank) {
  std::vector<int> sources;
  const Program& program = plan.program(rank);
  for (const Lane& lane : program.lanes)
    for (const Step& step : lane.steps) {
      if (step.kind != Kind::copy && step.kind != Kind::reduce) continue;
      for (int i = 0; i < step.sources; ++i) {
        const Operand& from = program.operands[step.operand + step.destinations + size_t(i)];
        if (is_remote(plan, rank, from) && (sources.empty() || sources.back() != from.rank))
          sources.push_back(from.rank);
      }
    }
  return sources;
}

std::string check_one_reader(const Plan& plan) {
  std::vector<std::vector<int>> readers;  // [read][source]: the reading rank + 1; 0: none yet
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const std::vector<int> sources = sources_in_order(plan, rank);
    if (readers.size() < sources.size()) readers.resize(sources.size(), std::vector<int>(size_t(plan.ranks)));
    for (size_t turn = 0; turn < sources.size(); ++turn) {
      int& reader = readers[turn][size_t(sources[turn])];
      if (reader != 0)
        return "ranks " + std::to_string(reader - 1) + " and " + std::to_string(rank) + " both read rank " +
               std::to_string(sources[turn]) + " in turn " + std::to_string(turn + 1) +
               ", and the plan claims one reader at a time";
      reader = rank + 1;
    }
  }
  return "";
}

// The executor may run a copy as one kernel-assisted copy, which moves bytes between this rank and one other.
std::string check_remote_copy(const Plan& plan, int rank, const Step& step, const Operand* operands) {
  const auto remote = [&](const Operand& operand) { return is_remote(plan, rank, operand); };
  bool to = remote(operands[0]) || (step.destinations == 2 && remote(operands[1])),
       from = remote(operands[step.destinations]);
  if (to && from) return "copies between the buffers of two other ranks";
  if (to && step.destinations == 2) return "has two destinations, one of them another rank's buffer";
  return "";
}

// Several blocks of one copy must be at equal distances. For the buffer of another rank only its owner knows the
// offsets.
std::string check_blocks(const Plan& plan, const Step& step, const Operand* operands) {
  if (step.blocks == 1) return "";
  if (step.kind != Kind::copy || step.destinations != 1) return "moves several blocks, which only a simple copy may";
  if (plan.irregular || !plan.ranges[step.range].is_piece()) return "moves several blocks that are not all as long";
  for (int i = 0; i < 2; ++i) {
    const Operand& operand = operands[i];
    const View* view = operand.space == Space::view ? &plan.views[operand.view] : nullptr;
    if (view != nullptr && view->buffer != Buffer::none) return "moves several blocks of a view that may be direct";
    const Buffer buffer = operand.space == Space::send ? Buffer::send : Buffer::recv;
    const int blocks = view != nullptr ? view->blocks : has_blocks(plan.collective, buffer) ? plan.ranks : 1;
    if (step.blocks == 0 || operand.block + step.blocks > blocks) return "moves blocks that do not exist";
  }
  return "";
}

std::string check_operands(const Plan& plan, int rank, const Program& program, const Step& step) {
  bool one_source = step.kind == Kind::copy;
  if (step.destinations < 1 || step.destinations > 2) return "has neither one nor two destinations";
  if (step.sources < 1 || (one_source && step.sources != 1)) return "has a wrong number of sources";
  if (step.range >= plan.ranges.size()) return "names a range that does not exist";
  size_t end = size_t(step.operand) + step.destinations + step.sources;
  if (end > program.operands.size()) return "names operands that do not exist";
  for (size_t i = step.operand; i < end; ++i) {
    const Operand& operand = program.operands[i];
    if (operand.space > Space::view) return "has an operand in no space";
    if (operand.space != Space::view) continue;
    if (operand.view >= plan.views.size()) return "names a view that does not exist";
    if (operand.rank >= plan.ranks) return "names a view of a rank that does not exist";
  }
  const Operand* operands = program.operands.data() + step.operand;
  if (auto problem = check_direction(plan, rank, step, operands); !problem.empty()) return problem;
  if (auto problem = check_blocks(plan, step, operands); !problem.empty()) return problem;
  return one_source ? check_remote_copy(plan, rank, step, operands) : "";
}

std::string check_step(const Plan& plan, int rank, const Program& program, const Step& step) {
  if (step.when > When::direct) return "has an unknown condition";
  if (step.when != When::always) {
    if (step.view >= plan.views.size()) return "depends on a view that does not exist";
    if (step.kind == Kind::loop || step.kind == Kind::end || step.kind == Kind::publish)
      return "depends on a view, which only copy, reduce, post and wait may";
  }
  switch (step.kind) {
    case Kind::publish: return step.view < plan.views.size() ? "" : "publishes a view that does not exist";
    case Kind::copy:
    case Kind::reduce: return check_operands(plan, rank, program, step);
    case Kind::post:
      // The builder leaves 0. A step that names another rank's flag would make that rank's flag have a second writer.
      if (step.rank != 0 && step.rank != rank)
        return "posts flag " + std::to_string(step.flag) + " of rank " + std::to_string(step.rank) +
               ": a flag written by two ranks";
      [[fallthrough]];
    case Kind::wait:
      if (step.flag >= plan.flags) return "names a flag that does not exist";
      if (step.kind == Kind::wait && step.rank >= plan.ranks) return "waits for a rank that does not exist";
      if (step.add > Add::trips) return "adds an unknown quantity to its value";
      if ((step.add == Add::trips || step.within) && step.range >= plan.ranges.size())
        return "depends on the passes of a range that does not exist";
      return "";
    case Kind::loop: return step.range < plan.ranges.size() ? "" : "loops over a range that does not exist";
    case Kind::end: return "";
  }
  return "is of an unknown kind";
}

std::string check_loops(const std::vector<Step>& steps, size_t at, size_t& open) {
  const size_t none = steps.size();
  if (steps[at].kind == Kind::loop) {
    if (open != none) return "is a loop within a loop";
    open = at;
  } else if (steps[at].kind == Kind::end) {
    if (open == none) return "ends a loop that was not begun";
    if (steps[at].value != int32_t(open) + 1 || steps[open].value != int32_t(at) + 1 ||
        steps[at].range != steps[open].range)
      return "does not fit the loop that it ends";
    open = none;
  }
  return "";
}

}  // namespace

std::string check_form(const Plan& plan) {
  if (plan.ranks < 1) return "the plan has no ranks";
  if (plan.only_rank >= 0) return "the plan holds one rank's program only; make it for all ranks";
  if (plan.programs.size() != size_t(plan.ranks)) return "the plan does not hold one program per rank";
  if (plan.root < 0 || plan.root >= plan.ranks) return "the root is not a rank";
  if (auto problem = check_views(plan); !problem.empty()) return problem;
  if (auto problem = check_ranges(plan); !problem.empty()) return problem;

  // Chunks are iterations of loops, never steps, so the number of steps may grow only with the ranks.
  const size_t most_steps = 256 + 32 * size_t(plan.ranks);
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const Program& program = plan.programs[size_t(rank)];
    size_t total = 0;
    for (size_t lane = 0; lane < program.lanes.size(); ++lane) {
      const auto& steps = program.lanes[lane].steps;
      total += steps.size();
      size_t open = steps.size();
      for (size_t at = 0; at <= steps.size(); ++at) {
        std::string problem;
        if (at < steps.size()) {
          problem = check_step(plan, rank, program, steps[at]);
          if (problem.empty()) problem = check_loops(steps, at, open);
        } else if (open != steps.size()) {
          problem = "ends within a loop";
        }
        if (!problem.empty())
          return "rank " + std::to_string(rank) + " lane " + std::to_string(lane) + " step " + std::to_string(at) +
                 ": " + problem;
      }
    }
    if (total > most_steps)
      return "rank " + std::to_string(rank) + " has " + std::to_string(total) + " steps, more than " +
             std::to_string(most_steps) + " for " + std::to_string(plan.ranks) +
             " ranks: plans grow with ranks and levels, not with the vector";
  }
  return plan.one_reader ? check_one_reader(plan) : "";
}

}  // namespace coll::plan
