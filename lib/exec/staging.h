// SPDX-License-Identifier: BSD-3-Clause
// Where the staging of an operation is. A ring has two halves; each rank has its part of both.
//
// With few ranks a channel has one ring, and each rank's part of it is memory of its own, in which operations are
// packed. With many ranks it also has rings of slots for short operations, each for twice as much staging as the one
// before. There the slots of all ranks for one operation are contiguous: a rank that reads a little from every peer
// touches few pages. Slots of a page or more belong to one rank, which commits them on its own NUMA node.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coll::exec {

// Memory of all ranks, with the same layout for each: that of rank r begins r * stride bytes behind that of rank 0.
struct Parts {
  char* first = nullptr;
  size_t stride = 0;
  char* of(int rank) const { return first + size_t(rank) * stride; }
};

inline constexpr size_t least_staging_window_bytes = size_t(256) << 10;

struct StagingRing {
  // The same on all ranks.
  Parts parts;             // each rank's first half
  size_t half_bytes = 0;   // of a rank
  size_t half_stride = 0;  // from a rank's first half to its second
  size_t slot_bytes = 0;   // 0: operations are packed; otherwise each takes a slot of this size
  size_t slot_stride = 0;  // from a slot of a rank in a half to its next
  // Size of the window through which operations rotate. A line in a peer's private caches is slow to regain before it
  // is written; when operations have rotated through the window, it has been evicted from them.
  size_t staging_window_bytes = least_staging_window_bytes;

  // Where the last operation ended; see Channel.
  size_t half = 0, position = 0;
  uint64_t last_use[2] = {0, 0};  // the last operation that used each half
  size_t touched[2] = {0, 0};     // this much of each half of the own part has pages

  // Bytes of the longest operation.
  size_t most_bytes() const { return slot_bytes == 0 ? half_bytes : slot_bytes; }
  size_t used_by(size_t staging_bytes) const { return slot_bytes == 0 ? staging_bytes : slot_bytes; }
  // Byte offset from the beginning of a rank's part.
  size_t offset(size_t in_half, size_t at) const {
    return in_half * half_stride + (slot_bytes == 0 ? at : at / slot_bytes * slot_stride);
  }
};

}  // namespace coll::exec
