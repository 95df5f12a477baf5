// SPDX-License-Identifier: BSD-3-Clause
#include "plan/layout.h"

#include <algorithm>

namespace coll::plan {

Layout::Layout(const Plan& plan, size_t count, size_t element_bytes, bool in_place)
    : plan_(&plan), count_(count), element_bytes_(element_bytes) {
  geometries_.reserve(plan.ranges.size());
  for (const Range& range : plan.ranges) geometries_.push_back(Geometry::bind(range, count, element_bytes));

  stride_ = 2 * count;
  for (const View& view : plan.views) {
    // No extent is longer than the vector, so cells beyond `count` would never be used.
    Ring ring{stride_, std::min<size_t>(view.slot_bytes / element_bytes, count)};
    stride_ += ring.slot * view.depth;
    rings_.push_back(ring);
  }

  for (int rank = 0; rank < plan.ranks; ++rank) {
    bool root = rank == plan.root;
    Buffers b;
    b.send = size_t(rank) * stride_;
    b.recv = b.send + count;
    switch (plan.collective) {
      case Collective::barrier: break;
      case Collective::bcast:
        b.has_send = root;
        b.has_recv = true;
        b.recv_writable = !root;  // the root's buffer is input: it may lie in read-only memory
        if (root) b.recv = b.send;
        break;
      case Collective::reduce:
        b.has_send = true;
        b.has_recv = b.recv_writable = root;
        if (root && in_place) b.recv = b.send, b.send_writable = true;
        break;
      case Collective::allreduce:
        b.has_send = b.has_recv = b.recv_writable = true;
        if (in_place) b.recv = b.send, b.send_writable = true;
        break;
    }
    buffers_.push_back(b);
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
  if (offset < count_) return (aliased(int(rank)) ? "buffer" : "send") + of_rank + element(offset);
  if (offset < 2 * count_) return "recv" + of_rank + element(offset - count_);
  for (size_t v = 0; v < rings_.size(); ++v) {
    const Ring& ring = rings_[v];
    if (offset >= ring.first + ring.slot * plan_->views[v].depth) continue;
    size_t slot = (offset - ring.first) / ring.slot, within = (offset - ring.first) % ring.slot;
    return "slot " + std::to_string(slot) + " of view " + std::to_string(v) + of_rank + element(within);
  }
  return "nowhere";
}

}  // namespace coll::plan
