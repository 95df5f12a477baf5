// SPDX-License-Identifier: BSD-3-Clause
// Where the staging of an operation lies. A ring has two halves; each rank has its part of both.
//
// Of few ranks a channel has one ring, and each rank's part of it is memory of its own, in which operations lie side by side.
// Of many ranks it has rings of slots for short operations as well, each for twice as much staging as the one before. There
// the slots of all ranks for one operation are contiguous: a rank that reads a little of every other one touches few pages.
// Those of a page or more belong to one rank, which commits them on its own NUMA node.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coll::exec {

// Memory of all ranks, alike for each: that of rank r begins r * apart bytes behind that of rank 0.
struct Parts {
  char* first = nullptr;
  size_t apart = 0;
  char* of(int rank) const { return first + size_t(rank) * apart; }
};

inline constexpr size_t least_walk_bytes = size_t(256) << 10;

struct StagingRing {
  // Alike in all ranks.
  Parts parts;            // each rank's first half
  size_t half_bytes = 0;  // of a rank
  size_t half_apart = 0;  // from a rank's first half to its second
  size_t slot_bytes = 0;  // 0: operations lie side by side; else each takes a slot of so many bytes
  size_t slot_apart = 0;  // from a slot of a rank in a half to its next
  // A line that lies in a peer's own caches is slow to take back before it is written; by the time that a stream of
  // operations has walked round, it has left them.
  size_t walk_bytes = least_walk_bytes;

  // Where the last operation ended; see Channel.
  size_t half = 0, position = 0;
  uint64_t last_use[2] = {0, 0};  // the last operation that used each half
  size_t touched[2] = {0, 0};     // this much of each half of the own part has pages

  // The longest operation.
  size_t most_bytes() const { return slot_bytes == 0 ? half_bytes : slot_bytes; }
  size_t taken_by(size_t staging_bytes) const { return slot_bytes == 0 ? staging_bytes : slot_bytes; }
  // From the beginning of a rank's part.
  size_t offset(size_t in_half, size_t at) const {
    return in_half * half_apart + (slot_bytes == 0 ? at : at / slot_bytes * slot_apart);
  }
};

}  // namespace coll::exec
