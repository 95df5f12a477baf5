// SPDX-License-Identifier: BSD-3-Clause
// The position of operands when one process interprets a whole plan, the programs of all ranks. Memory is an array of
// cells, one per element: for each rank its send and receive buffers and the slots of its views. Each view has its own
// cells, so slots of two views never overlap here; check.h checks that they do not overlap in bytes either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/geometry.h"
#include "plan/plan.h"

namespace coll::plan {

// The owner's decision about a view; a view with a buffer is undecided until the owner publishes it.
enum class Decision : uint8_t { undecided, staged, direct };

// The reasons why an operand cannot be used.
enum class Fault : uint8_t {
  none,
  undecided,  // the view was not published
  absent,     // the rank has no such buffer in this collective
  overflow,   // the extent does not fit into a slot
  read_only,  // a step writes to the caller's input
  no_block,   // the operand names no block of a buffer with blocks, or a block of a buffer without
};

// The first cell of an operand, or why the operand cannot be used.
struct Resolved {
  size_t cell = 0;
  Fault fault = Fault::none;
};

// In an irregular plan, the pieces of a buffer are in no particular order and have gaps between them, so that the
// verifier detects a wrong offset.
class Layout {
 public:
  // The arrays of counts that `shape` points to must outlive the layout. REQUIRES: in an alltoall, Shape::By::all or
  // pair.
  Layout(const Plan& plan, const Shape& shape, size_t element_bytes, bool in_place);

  const Plan& plan() const { return *plan_; }
  const Shape& shape() const { return shape_; }
  // Elements of the vector or of the longest piece.
  size_t count() const { return count_; }
  size_t element_bytes() const { return element_bytes_; }
  size_t cells() const { return stride_ * size_t(plan_->ranks); }
  const Geometry& geometry(uint16_t range) const { return geometries_[range]; }

  // In a broadcast or scatter only the root has a send buffer, in a reduction or gather only the root a receive buffer.
  bool has_send(int rank) const;
  bool has_recv(int rank) const;
  bool has(Buffer buffer, int rank) const { return buffer == Buffer::send ? has_send(rank) : has_recv(rank); }
  // Whether the input is in the memory of the result: in place, and at the root of a broadcast.
  bool aliased(int rank) const { return buffers_[size_t(rank)].aliased; }
  size_t send(int rank) const { return buffers_[size_t(rank)].send; }
  size_t recv(int rank) const { return buffers_[size_t(rank)].recv; }
  size_t cells(Buffer buffer, int rank) const {
    return buffer == Buffer::send ? buffers_[size_t(rank)].send_cells : buffers_[size_t(rank)].recv_cells;
  }
  // The offset of a block in a buffer with blocks, in cells from the buffer's first one.
  size_t block(Buffer buffer, int rank, size_t block) const {
    const std::vector<uint32_t>& table = buffer == Buffer::send ? send_blocks_ : recv_blocks_;
    return table[size_t(rank) * size_t(plan_->ranks) + block];
  }

  // Returns the first cell of `extent` of an operand in iteration `index`, for a step of rank `own`, or the fault.
  template <bool writes>
  Resolved find(const Operand& operand, int own, const Extent& extent, size_t index,
                const std::vector<Decision>& decisions) const {
    Buffer buffer;
    size_t rank = size_t(own);
    if (operand.space == Space::view) {
      rank = operand.rank;
      const View& view = plan_->views[operand.view];
      Decision decision =
          view.buffer == Buffer::none ? Decision::staged : decisions[rank * plan_->views.size() + operand.view];
      if (decision == Decision::undecided) return {0, Fault::undecided};
      if (decision == Decision::staged) {
        const Ring& ring = rings_[operand.view];
        size_t offset = extent.low - extent.chunk_low, block = slot_block(view, operand);
        if (offset + extent.length > ring.slot || block >= view.blocks) return {0, Fault::overflow};
        return {rank * stride_ + ring.first + ((index & (view.depth - 1u)) * view.blocks + block) * ring.slot + offset,
                Fault::none};
      }
      buffer = view.buffer;
    } else {
      buffer = operand.space == Space::send ? Buffer::send : Buffer::recv;
    }
    const Buffers& own_buffers = buffers_[rank];
    bool send = buffer == Buffer::send;
    if (!(send ? own_buffers.has_send : own_buffers.has_recv)) return {0, Fault::absent};
    if (writes && !(send ? own_buffers.send_writable : own_buffers.recv_writable)) return {0, Fault::read_only};
    size_t first = send ? own_buffers.send : own_buffers.recv;
    if (has_blocks(plan_->collective, buffer)) {
      if (operand.block >= plan_->ranks) return {0, Fault::no_block};
      first += block(buffer, int(rank), operand.block);
    } else if (operand.block != no_block && operand.space != Space::view) {
      return {0, Fault::no_block};
    }
    return {first + extent.low, Fault::none};
  }

  // Names a cell: "recv of rank 3, element 12 (byte 768)".
  std::string describe(size_t cell) const;

 private:
  struct Buffers {
    size_t send = 0, recv = 0;
    size_t send_cells = 0, recv_cells = 0;
    bool has_send = false, has_recv = false, send_writable = false, recv_writable = false, aliased = false;
  };
  struct Ring {
    size_t first = 0;  // offset from the rank's first cell
    size_t slot = 0;   // cells of one block of a slot
  };

  void lay_out_blocks();
  void lay_out_buffers(bool in_place);

  const Plan* plan_;
  Shape shape_;
  size_t count_ = 0, element_bytes_;
  size_t stride_ = 0;  // cells of one rank
  std::vector<Geometry> geometries_;
  std::vector<Buffers> buffers_;
  std::vector<uint32_t> send_blocks_, recv_blocks_;  // [rank * ranks + block]
  std::vector<Ring> rings_;
};

}  // namespace coll::plan
