// SPDX-License-Identifier: BSD-3-Clause
// Lengths and offsets of the blocks of a v-variant, as far as one rank knows them. Calls keep copies, because the
// caller may free its arrays before the collective is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "plan/shape.h"

namespace coll::comm {

// Lengths and offsets are in elements, [ranks]; plan::Shape defines which blocks the lengths belong to.
struct Pieces {
  plan::Shape::By by = plan::Shape::By::sender;
  std::vector<size_t> counts;
  std::vector<size_t> received;                    // alltoall only
  std::vector<size_t> send_offsets, recv_offsets;  // if this rank has a buffer of blocks, else empty

  plan::Shape shape(int rank) const {
    plan::Shape shape;
    shape.by = by;
    shape.counts = counts.data();
    shape.received = received.data();
    shape.ranks = int(counts.size());
    shape.rank = rank;
    return shape;
  }
  bool same_lengths(const Pieces& other) const { return counts == other.counts && received == other.received; }
  uint64_t digest() const {
    uint64_t h = 0xcbf29ce484222325u;
    for (const std::vector<size_t>* lengths : {&counts, &received})
      for (size_t length : *lengths) h = (h ^ length) * 0x100000001b3u, h ^= h >> 29;
    return h;
  }
  // The sum of the lengths that this rank knows.
  size_t total() const { return std::accumulate(counts.begin(), counts.end(), size_t(0)); }
};

}  // namespace coll::comm
