// SPDX-License-Identifier: BSD-3-Clause
// A plan bound to a channel and a shape: flags are pointers and ranges are numbers, so that a run looks up and divides
// nothing. Each run binds the buffers, the offsets of an irregular plan's blocks and the position in the staging ring.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "exec/channel.h"
#include "exec/compiled_loop.h"
#include "plan/geometry.h"
#include "plan/plan.h"
#include "plan/shape.h"

namespace coll::exec {

// Where an operand is, as far as it is known before a run.
struct Location {
  enum class Where : uint8_t { send, recv, view } where = Where::send;
  uint8_t view = 0;
  uint16_t rank = 0;
  uint16_t block = plan::no_block;  // of an irregular plan's buffer: a run looks up its offset
  uint32_t slot_mask = 0;
  uint32_t slot_stride = 0;  // bytes from one slot to the next
  uint32_t slot_offset = 0;
  uint32_t seen = 0;        // Channel::place_of() of a view
  char* staging = nullptr;  // of a view: its owner's part of the ring
  size_t offset = 0;        // bytes from the buffer's beginning to the block
  size_t block_stride = 0;  // bytes from a block to the next: of a regular plan's buffer, or of slots without a buffer
};

// Byte offset of a staged operand from the operation's position in its owner's ring, in iteration `index` of a loop.
inline size_t slot(const Location& at, const plan::Extent& extent, uint64_t index, size_t element_bytes) {
  return at.slot_offset + (index & at.slot_mask) * at.slot_stride + (extent.low - extent.chunk_low) * element_bytes;
}

struct Instruction {
  plan::Kind kind;
  plan::When when;
  plan::Add add;
  uint8_t destinations;
  bool conditional;  // may be skipped: depends on `when` or is `within` the trips
  bool within;
  uint16_t sources;
  uint16_t rank;
  uint16_t blocks;    // copy: how many, beginning with those that the operands name
  bool stream;        // copy: with mem::copy_streaming()
  bool from_right;    // reduce: as in plan::Step
  uint8_t shared;     // copy, reduce: the destination that other ranks see, plus one; 0: none
  uint8_t view;       // publish: the view; with `when`: the view whose state decides
  uint8_t announces;  // wait: the view that the flag announces
  int32_t value;
  union {
    std::atomic<uint64_t>* flag;     // post, wait
    const plan::Geometry* geometry;  // copy, reduce, loop
  };
  union {
    const Location* locations;     // copy, reduce
    const CompiledLoop* compiled;  // end: the loop; null: it has steps that are looked up in every iteration
  };
  uint64_t trips;  // Add::trips, within
};

inline constexpr uint8_t no_bound_view = 0xff;

struct BoundLane {
  std::vector<Instruction> code;
  std::vector<std::unique_ptr<CompiledLoop>> loops;
};

// How a plan is bound; part of the key under which the bound plan is kept.
struct BindOptions {
  plan::Shape shape;  // only the constructor reads its counts
  size_t element_bytes = 1;
  plan::AccessMode access_mode = plan::AccessMode::staged;  // how peers access this rank's ordinary memory
  bool stream = false;  // the work set exceeds the caches: non-temporal stores for results that are not reused
};

class Bound {
 public:
  // The plan must outlive it. REQUIRES: plan.flags <= max_flags, views <= max_views, staging fits the channel.
  Bound(const plan::Plan& plan, Channel& channel, const BindOptions& options);
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

  const plan::Plan& plan() const { return *plan_; }
  const std::vector<BoundLane>& lanes() const { return lanes_; }
  size_t element_bytes() const { return element_bytes_; }
  plan::AccessMode access_mode() const { return access_mode_; }
  uint64_t last_value() const { return last_value_; }
  // True if this rank or a peer stores to this rank's staging, unless all its views are direct, and the data can fill
  // it, so that all its pages are touched at once. The slots of an irregular plan are as long as the longest pieces that
  // it is made for: of a few short pieces each, one page is stored to.
  bool fills_staging() const { return fills_staging_; }
  // True if this rank stores data that other ranks read, staged or not.
  bool stores_shared() const { return stores_shared_; }
  // Parts of its own staging that this rank stores to first: as much as is worth prefetching for write.
  struct Stored {
    size_t offset, bytes;  // from the operation's position in the ring
  };
  const std::vector<Stored>& stored_first() const { return stored_first_; }

  // Sizes of this rank's buffers.
  struct BufferSize {
    size_t piece_bytes = 0;      // the longest block, or the vector
    size_t span_bytes = 0;       // the whole buffer; 0 (unknown) for blocks of an irregular plan
    std::vector<size_t> blocks;  // bytes of each block of an irregular plan

    size_t bytes() const { return std::accumulate(blocks.begin(), blocks.end(), span_bytes); }
  };
  const BufferSize& size(plan::Buffer buffer) const { return sizes_[buffer == plan::Buffer::recv]; }

 private:
  void compile_loops();
  std::unique_ptr<CompiledLoop> compiled_loop(const BoundLane& lane, uint32_t begin, uint32_t end) const;
  void find_stored_first(int rank);
  void measure(plan::Buffer buffer, const plan::Shape& shape, size_t rank);
  Instruction translate(const plan::Step& step, Channel& channel) const;
  Location locate(const plan::Operand& operand, Channel& channel) const;

  const plan::Plan* plan_;
  size_t element_bytes_;
  size_t block_bytes_;  // of a regular plan
  plan::AccessMode access_mode_;
  bool stream_;
  bool fills_staging_ = false, stores_shared_ = false;
  std::vector<Stored> stored_first_;
  BufferSize sizes_[2];
  std::vector<plan::Geometry> geometry_;
  std::vector<Location> locations_;
  std::vector<BoundLane> lanes_;
  uint64_t last_value_;
};

// Returns "" if the plan fits the channel, otherwise what does not fit.
std::string fits(const plan::Plan& plan, const Channel& channel, size_t element_bytes = 1);

// What the plan demands of the transport::Mechanism by which ranks reach each other's buffers; the same on every rank.
transport::Demands demands(const plan::Plan& plan);

}  // namespace coll::exec
