// SPDX-License-Identifier: BSD-3-Clause
// The interface with which generators write plans. A Builder holds what all ranks share (views, flags, ranges); a
// LaneBuilder appends the steps of one lane of one rank:
//
//   Builder b(Collective::bcast, "flat_read", ranks, root);
//   auto data = b.view(Buffer::send, chunk, depth);
//   auto part = b.range({.chunk_bytes = chunk});
//   for (int rank : b.ranks()) { auto lane = b.lane(rank); lane.publish(data).loop(part)...end(); }
//   return b.finish();
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace coll::plan {

// A value of a flag: a constant, plus the loop index or the trips of a range.
struct Value {
  int32_t constant = 0;
  Add add = Add::nothing;
  uint16_t range = 0;
  bool within = false;  // the step is skipped in iterations that the range does not have
};
// The loop's iteration, from 1: the owner posts this value when chunk `index` is ready, and readers wait for it.
inline Value this_iteration(int32_t offset = 0) { return {1 + offset, Add::index, 0}; }
// Met once the slot that this iteration overwrites, last used `depth` iterations ago, is free.
inline Value iteration_before(int32_t depth) { return {1 - depth, Add::index, 0}; }
inline Value constant(int32_t value) { return {value, Add::nothing, 0}; }
inline Value all_iterations(uint16_t range, int32_t offset = 0) { return {offset, Add::trips, range}; }

// As above, for one of several pieces that a loop serves.
inline Value this_iteration_of(uint16_t range, int32_t offset = 0) { return {1 + offset, Add::index, range, true}; }
inline Value iteration_before_of(uint16_t range, int32_t depth) { return {1 - depth, Add::index, range, true}; }

// `block` selects one block of a buffer or view with several.
inline Operand own_send(int block = no_block) { return {.space = Space::send, .block = uint16_t(block)}; }
inline Operand own_recv(int block = no_block) { return {.space = Space::recv, .block = uint16_t(block)}; }
inline Operand seen(uint16_t view, int rank, int block = no_block) {
  return {.space = Space::view, .view = view, .rank = uint16_t(rank), .block = uint16_t(block)};
}

// Restricts a step to one state of the rank's own view.
struct Only {
  When when = When::always;
  uint16_t view = no_view;
};
inline Only if_staged(uint16_t view) { return {When::staged, view}; }
inline Only if_direct(uint16_t view) { return {When::direct, view}; }

class LaneBuilder {
 public:
  LaneBuilder& publish(uint16_t view);
  LaneBuilder& copy(uint16_t range, Operand to, Operand from, Only only = {});
  // As copy(), for data that no rank reads again in the plan: the executor may store it with non-temporal stores (Step::reused).
  LaneBuilder& copy_result(uint16_t range, Operand to, Operand from, Only only = {});
  // Copies `blocks` consecutive pieces of a regular plan, starting with the piece of `range`. REQUIRES: `to` and `from`
  // are own buffers or plain staging.
  LaneBuilder& copy_blocks(int blocks, uint16_t range, Operand to, Operand from);
  LaneBuilder& copy2(uint16_t range, Operand to, Operand to_too, Operand from, Only only = {});
  LaneBuilder& reduce(uint16_t range, std::span<const Operand> to, std::span<const Operand> from, Only only = {});
  // src[0] op (src[1] op (src[2] op ...)): for sources that are blocks of ranks of decreasing size.
  LaneBuilder& reduce_from_right(uint16_t range, std::span<const Operand> to, std::span<const Operand> from);
  LaneBuilder& post(uint16_t flag, Value value, Only only = {});
  LaneBuilder& wait(int rank, uint16_t flag, Value value, Only only = {});
  LaneBuilder& loop(uint16_t range);
  LaneBuilder& end();

 private:
  friend class Builder;
  LaneBuilder(Plan& plan, Program& program, size_t lane) : plan_(&plan), program_(&program), lane_(lane) {}
  Step& append(Kind kind, Only only);
  void operands(Step& step, std::span<const Operand> to, std::span<const Operand> from);
  void set_value(Step& step, Value value);

  [[maybe_unused]] Plan* plan_;  // for assertions
  Program* program_;
  size_t lane_;
};

class Builder {
 public:
  // only_rank >= 0 makes only that rank's program (all that a communicator needs); -1 makes all.
  Builder(Collective collective, std::string algorithm, int ranks, int root, int only_rank = -1,
          bool irregular = false);

  // The ranks whose programs the generator must make.
  std::vector<int> ranks() const;
  uint16_t flag();
  // A view of `buffer`; its flag announces it. slot_bytes is rounded up to a cache line; depth must be a power of two.
  // `blocks` is the number of blocks per slot, each of slot_bytes. A view of a buffer with blocks has the same number,
  // or 1 if all steps that use one of its slots mean the same block.
  uint16_t view(Buffer buffer, uint32_t slot_bytes, uint16_t depth = 1, uint16_t blocks = 1);
  uint16_t view_flag(uint16_t view) const { return plan_.views[view].flag; }
  uint16_t range(Range range);
  // Appends a lane to the program of `rank`, one of ranks().
  LaneBuilder lane(int rank);
  void synchronizing() { plan_.synchronizing = true; }
  void unbalanced() { plan_.balanced = false; }
  void direction(Direction direction) { plan_.direction = direction; }
  void throttle(int k) { plan_.throttle = uint16_t(k); }
  void one_reader() { plan_.one_reader = true; }
  void parameter(const std::string& name, long long value);
  Plan finish();

 private:
  Plan plan_;
};

}  // namespace coll::plan
