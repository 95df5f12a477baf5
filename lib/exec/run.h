// SPDX-License-Identifier: BSD-3-Clause
// Runs a bound plan. Blocking: begin(), then finish(). Step by step: begin(), then advance() until it returns `done`.
// remote.cc has the steps on memory that only the team's mechanism reaches.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/bound.h"
#include "exec/channel.h"
#include "exec/compiled_loop.h"
#include "exec/reducer.h"
#include "mem/copy.h"

namespace coll::exec {

struct Arguments {
  // In place, and at the root of a broadcast, both are the same memory: they are equal, or one is this rank's own block
  // of the other, a buffer of blocks.
  const void* send = nullptr;
  void* recv = nullptr;
  const Reducer* reducer = nullptr;
  // Irregular plans: offsets of the blocks of a buffer that has blocks, in elements; [ranks].
  const size_t* send_offsets = nullptr;
  const size_t* recv_offsets = nullptr;
};

class Run {
 public:
  enum class Progress : uint8_t { done, blocked, moved, failed };

  // Allocates the memory that running the plan needs, except for remote steps and records, so that begin() and
  // advance() find it.
  void reserve(const Bound& bound);
  // Begins an operation; one at a time per channel. The plan must be bound to the channel. If it throws, no operation
  // has begun.
  coll_status begin(const Bound& bound, Channel& channel, const Arguments& arguments);
  // The plan of the last begin().
  const Bound* bound() const { return bound_; }
  // Runs every lane until it has to wait. Never blocks and never throws. After `failed`, status() returns the reason:
  // NO_MEMORY if a step could not allocate memory; the operation cannot continue then.
  Progress advance();
  // Advances until done.
  coll_status finish();
  // For callers with their own loop around advance(): call it after a blocked advance() with the stage of the wait.
  // Returns false if the awaited rank has exited (status() is then PEER_DIED). In stage `block` it sleeps a little.
  bool idle(sync::WaitStage stage);
  // The post that a blocked run waits for; none if the run is done.
  AwaitedPost awaited() const;
  coll_status status() const { return status_; }
  // True if memory in an arena, this rank's or a peer's, was accessed in place since begin().
  bool used_mapped_memory() const { return mapped_; }

 private:
  struct LaneState {
    const Instruction* code = nullptr;
    const Instruction* next = nullptr;
    const Instruction* end = nullptr;
    uint64_t index = 0;             // iteration of the loop it is in
    bool in_compiled_loop = false;  // run_compiled() makes that loop's other iterations
    bool done() const { return next == end; }
  };
  enum class Outcome : uint8_t { ended, blocked, failed, left };

  Progress fail(coll_status status);

  template <bool recorded>
  Outcome run_lane(LaneState& lane);
  // Handles a step that was not done: the lane is blocked if the step is suspended, otherwise it has failed.
  Outcome stop(LaneState& lane, const Instruction* step, uint64_t index);
  // Not inlined, so that the loop that calls it contains the other instance only.
  [[gnu::noinline, gnu::cold]] Outcome run_recorded_lane(LaneState& lane);
  // Adds a step that is done to the team's record.
  void note(const LaneState& lane, const Instruction& in, uint64_t index, int64_t begin_ns);
  void end();
  // The first lane that waits for a flag; null if all wait for owners' copies. REQUIRES: lanes_left_ > 0, all blocked.
  const LaneState* waiting_lane() const;
  uint64_t target(const Instruction& in, uint64_t index) const;
  bool skipped(const Instruction& in, uint64_t index) const {
    if (in.within && index >= in.trips) return true;
    return in.when != plan::When::always && skipped_by_view(in);
  }
  bool skipped_by_view(const Instruction& in) const {
    return ((direct_ >> in.view & 1u) != 0) != (in.when == plan::When::direct);
  }
  bool met(const Instruction& in, uint64_t index);
  void publish(uint8_t view);
  void learn(int rank, uint8_t view);
  // Whether the operand is in staging: its view is not direct in this operation.
  bool is_staged(const Location& at) const {
    return at.where == Location::Where::view && seen(at).operation != channel_->operation;
  }
  bool is_remote(const Location& at) const {
    return at.where == Location::Where::view && !is_staged(at) && seen(at).local == nullptr;
  }
  const Seen& seen(const Location& at) const { return channel_->seen[at.seen]; }
  size_t block_offset(const Location& at) const { return at.block == plan::no_block ? at.offset : looked_up(at); }
  size_t looked_up(const Location& at) const;
  // For operands that are not remote: address of the slots if staged, otherwise of the buffer or block.
  char* staged(const Location& at) const { return at.staging + staging_offset_ + at.slot_offset; }
  char* buffer(const Location& at) const {
    const void* begin = at.where == Location::Where::send   ? arguments_.send
                        : at.where == Location::Where::recv ? arguments_.recv
                                                            : seen(at).local;
    return static_cast<char*>(const_cast<void*>(begin)) + block_offset(at);
  }
  char* local(const Location& at, const plan::Extent& extent, uint64_t index) const;
  const Instruction* copy(const Instruction* in, const Instruction* end, uint64_t index);
  bool reduce(const Instruction& in, uint64_t index);
  // The same after operands were looked up. `shared`: as in Instruction.
  void copy_blocks(const Instruction& in, const plan::Extent& extent, uint64_t index) const;
  void copy_here(int shared, bool stream, char* first, char* second, const char* source, size_t bytes) const;
  void reduce_here(int shared, bool from_right, char* first, char* second, const void** sources, int count,
                   size_t elements) const;
  void combine(bool from_right, void* first, void* second, const void* const* sources, int count,
               size_t elements) const {
    if (from_right) arguments_.reducer->from_right(first, second, sources, count, elements);
    else (*arguments_.reducer)(first, second, sources, count, elements);
  }

  // True if the loop that ends at `end` runs compiled from iteration `index` on; run_compiled() then makes these
  // iterations and continues after the loop.
  bool enter_compiled(LaneState& lane, const Instruction& end, uint64_t index);
  Outcome run_compiled(LaneState& lane);

  bool offer(const void* buffer, size_t bytes, const plan::View& view, sync::FlagLine& line);
  void resolve_remote(int rank, uint8_t view, const sync::FlagLine& line);
  const RemoteView& remote_view(const Location& at) const { return channel_->remote_views[at.seen]; }
  RemoteView& remote_view_of(int rank, uint8_t view) const {
    std::vector<RemoteView>& all = channel_->remote_views;
    if (all.size() < channel_->seen.size()) all.resize(channel_->seen.size());
    return all[channel_->place_of(rank, view)];
  }
  uint64_t remote_offset(const Location& at, const plan::Extent& extent) const {
    return block_offset(at) + extent.low * element_bytes_;
  }
  char* place(const Location& at, const plan::Extent& extent, uint64_t index) const;
  bool still_hold(const Location* operands, int count) const;
  bool share_memory(const Location& a, const Location& b, const plan::Extent& extent, uint64_t index) const;
  const Instruction* copy_remote(const Instruction* in, const Instruction* end, uint64_t index);
  const Instruction* copy_several(const Instruction* in, const Instruction* end, uint64_t index);
  bool copy_mapped(const Instruction& in, const plan::Extent& extent, uint64_t index);
  bool copy_by_kernel(const Instruction& in, const plan::Extent& extent, uint64_t index);
  bool reduce_remote(const Instruction& in, const plan::Extent& extent, uint64_t index);
  bool reduce_mapped(const Instruction& in, const plan::Extent& extent, uint64_t index);
  bool reduce_block(const Instruction& in, const plan::Extent& extent, uint64_t index, size_t stride, bool mapped);
  bool get(const Location& at, const plan::Extent& extent, char* to);
  bool put(const Location& at, const plan::Extent& extent, uint64_t index, const char* from);
  bool copy_refused(int rank, bool write, uint64_t address, char* local, size_t bytes, int error);
  bool suspend() { return suspended_ = true, false; }
  bool failed_copy(int rank, int error);

  const Bound* bound_ = nullptr;
  Channel* channel_ = nullptr;
  Arguments arguments_;
  size_t element_bytes_ = 1;
  size_t staging_offset_ = 0;
  uint32_t direct_ = 0;  // bit v: this rank's view v is direct
  bool mapped_ = false;
  uint64_t known_ = 0;  // how many views became known, this rank's and peers'
  std::vector<LaneState> lanes_;
  size_t lanes_left_ = 0;
  std::vector<RunningLoop> running_loops_;  // [lanes]
  bool recorded_ = false;
  bool stores_shared_ = false;  // Bound::stores_shared()
  coll_status status_ = COLL_OK;
  std::vector<transport::Hold> holds_;  // of memory that this operation offers or has mapped
  // State of a remote step that waits for copies by owners. advance() does not wait for them: it repeats the step from
  // its current block on.
  struct RemoteStep {
    std::vector<char> bounce;  // copies of operands that only the kernel reaches
    size_t done = 0;           // elements of blocks that are done
    // State of the current block:
    bool combined = false, mapped = false;  // the reduction's result is there; it was made from windows
    uint32_t made = 0, counted = 0;         // refused copies that owners have made, and that this attempt met
    OwnersCopy copy;                        // the copy that is not made yet
    int64_t failed_ns = 0;                  // since when copies fail although the owner seems alive; 0: they do not

    bool has_begun() const { return done != 0 || combined || made != 0 || copy.owner >= 0; }
  };
  void next_block(RemoteStep& step, size_t done);
  void over(RemoteStep& step) {
    if (step.has_begun()) [[unlikely]]
      next_block(step, 0);
  }
  RemoteStep& remote_step() {
    if (remote_steps_.size() < lanes_.size()) remote_steps_.resize(lanes_.size());
    return remote_steps_[lane_];
  }
  const Instruction* copy_again(const Instruction* in, const Instruction* end, uint64_t index);

  std::vector<RemoteStep> remote_steps_;  // [lanes] after the first remote step
  size_t lane_ = 0;                       // the lane that runs
  bool may_wait_ = false;                 // steps may wait for owners: the caller blocks anyway
  bool suspended_ = false;                // a step was not done because it waits for an owner
  std::vector<const void*> sources_;      // of one remote reduction
};

// Copies source to first and, unless null, to second; skips a destination that is the source.
inline void copy_local(char* first, char* second, const char* source, size_t bytes, bool stream) {
  if (second != nullptr) mem::copy_both(first, second, source, bytes);
  else if (first != source) mem::copy(first, source, bytes, stream ? mem::Stores::non_temporal : mem::Stores::temporal);
}

}  // namespace coll::exec
