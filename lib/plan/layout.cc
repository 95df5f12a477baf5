// SPDX-License-Identifier: BSD-3-Clause
#include "plan/layout.h"

#include <algorithm>

namespace coll::plan {

Layout::Layout(const Plan& plan, const Shape& shape, size_t element_bytes, bool in_place)
    : plan_(&plan), shape_(shape), element_bytes_(element_bytes) {
  shape_.ranks = plan.ranks;
  geometries_.reserve(plan.ranges.size());
  for (const Range& range : plan.ranges) geometries_.push_back(Geometry::bind(range, shape_, element_bytes));
  count_ = shape_.of({.sender = any_rank, .receiver = any_rank});
  lay_out_blocks();
  lay_out_buffers(in_place);
}

void Layout::lay_out_blocks() {
  const auto ranks = size_t(plan_->ranks);
  for (Buffer buffer : {Buffer::send, Buffer::recv}) {
    if (!has_blocks(plan_->collective, buffer)) continue;
    std::vector<uint32_t>& table = buffer == Buffer::send ? send_blocks_ : recv_blocks_;
    table.resize(ranks * ranks);
    for (size_t rank = 0; rank < ranks; ++rank) {
      size_t end = 0;
      for (size_t i = 0; i < ranks; ++i) {
        // Odd ranks place irregular pieces in reverse order; all ranks leave one cell between pieces.
        const size_t b = plan_->irregular && rank % 2 == 1 ? ranks - 1 - i : i;
        table[rank * ranks + b] = uint32_t(end);
        end += (buffer == Buffer::send ? shape_.piece(rank, b) : shape_.piece(b, rank)) + (plan_->irregular ? 1 : 0);
      }
    }
  }
}

void Layout::lay_out_buffers(bool in_place) {
  const auto ranks = size_t(plan_->ranks), root = size_t(plan_->root);
  const auto all_blocks = [&](Buffer buffer, size_t rank) {
    size_t end = 0;
    for (size_t b = 0; b < ranks; ++b)
      end = std::max(
          end, block(buffer, int(rank), b) + (buffer == Buffer::send ? shape_.piece(rank, b) : shape_.piece(b, rank)));
    return end;
  };
  for (size_t rank = 0; rank < ranks; ++rank) {
    const bool is_root = rank == root;
    Buffers b;
    b.has_send = b.has_recv = b.recv_writable = true;
    b.send_cells = b.recv_cells = count_;
    switch (plan_->collective) {
      case Collective::barrier:
        b.has_send = b.has_recv = false;
        b.send_cells = b.recv_cells = 0;
        break;
      case Collective::bcast:
        b.has_send = is_root;
        b.recv_writable = !is_root;  // the root's buffer is input: it may be in read-only memory
        b.aliased = is_root;
        break;
      case Collective::reduce:
        b.has_recv = b.recv_writable = is_root;
        b.aliased = is_root && in_place;
        break;
      case Collective::allreduce:
      case Collective::scan:
      case Collective::exscan: b.aliased = in_place; break;
      case Collective::scatter:
        b.has_send = is_root;
        b.send_cells = is_root ? all_blocks(Buffer::send, rank) : 0;
        b.recv_cells = shape_.piece(root, rank);
        b.aliased = is_root && in_place;
        break;
      case Collective::gather:
        b.has_recv = is_root;
        b.send_cells = shape_.piece(rank, root);
        b.recv_cells = is_root ? all_blocks(Buffer::recv, rank) : 0;
        b.aliased = is_root && in_place;
        break;
      case Collective::allgather:
        b.send_cells = shape_.piece(rank, rank);
        b.recv_cells = all_blocks(Buffer::recv, rank);
        b.aliased = in_place;
        break;
      case Collective::alltoall:
        b.send_cells = all_blocks(Buffer::send, rank);
        b.recv_cells = all_blocks(Buffer::recv, rank);
        break;
      case Collective::reduce_scatter:
        b.send_cells = all_blocks(Buffer::send, rank);
        b.recv_cells = shape_.piece(rank, rank);
        break;
    }
    stride_ = std::max(stride_, b.send_cells + b.recv_cells);
    buffers_.push_back(b);
  }

  const size_t buffer_cells = stride_;
  for (const View& view : plan_->views) {
    // No extent is longer than the vector or a piece, so no step would use cells beyond `count`.
    Ring ring{stride_, std::min<size_t>(view.slot_bytes / element_bytes_, count_)};
    stride_ += ring.slot * view.depth * view.blocks;
    rings_.push_back(ring);
  }

  for (size_t rank = 0; rank < ranks; ++rank) {
    Buffers& b = buffers_[rank];
    b.send = rank * stride_;
    b.recv = rank * stride_ + (buffer_cells - b.recv_cells);
    if (!b.aliased) continue;
    // The input is part of the result's memory; in a scatter the result is part of the input, which may not be written.
    if (plan_->collective == Collective::scatter) {
      b.recv = b.send + block(Buffer::send, int(rank), rank);
      b.recv_writable = false;
    } else {
      b.recv = b.send;
      if (has_blocks(plan_->collective, Buffer::recv)) b.send = b.recv + block(Buffer::recv, int(rank), rank);
      b.send_writable = b.recv_writable;
    }
  }
}

bool Layout::has_send(int rank) const { return buffers_[size_t(rank)].has_send; }
bool Layout::has_recv(int rank) const { return buffers_[size_t(rank)].has_recv; }

std::string Layout::describe(size_t cell) const {
  size_t rank = cell / stride_, offset = cell % stride_;
  auto element = [&](size_t i) {
    return "element " + std::to_string(i) + " (byte " + std::to_string(i * element_bytes_) + ")";
  };
  std::string of_rank = " of rank " + std::to_string(rank) + ", ";
  const Buffers& b = buffers_[rank];
  if (cell >= b.send && cell < b.send + b.send_cells)
    return (b.aliased ? "buffer" : "send") + of_rank + element(cell - b.send);
  if (cell >= b.recv && cell < b.recv + b.recv_cells)
    return (b.aliased ? "buffer" : "recv") + of_rank + element(cell - b.recv);
  for (size_t v = 0; v < rings_.size(); ++v) {
    const Ring& ring = rings_[v];
    const View& view = plan_->views[v];
    if (offset < ring.first || offset >= ring.first + ring.slot * view.depth * view.blocks) continue;
    size_t block = (offset - ring.first) / ring.slot, within = (offset - ring.first) % ring.slot;
    return "slot " + std::to_string(block / view.blocks) +
           (view.blocks > 1 ? " block " + std::to_string(block % view.blocks) : "") + " of view " + std::to_string(v) +
           of_rank + element(within);
  }
  return "nowhere";
}

}  // namespace coll::plan
