// SPDX-License-Identifier: BSD-3-Clause
// The number of elements that a collective moves: one count for the vector or for every piece, or one per piece.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "plan/plan.h"

namespace coll::plan {

// Refers to the caller's counts, which must outlive it.
struct Shape {
  enum class By : uint8_t {
    all,       // every piece, or the vector, has `count` elements
    sender,    // piece (s, r) has counts[s]: gather, allgather
    receiver,  // counts[r]: scatter, reduce-scatter
    own,       // alltoall, as `rank` knows it: counts[r] of the pieces that it sends, received[s] of those it receives
    pair,      // alltoall, for all ranks: counts[s * ranks + r]
  };
  By by = By::all;
  size_t count = 0;
  const size_t* counts = nullptr;    // [ranks]; By::pair: [ranks * ranks]
  const size_t* received = nullptr;  // [ranks]
  int ranks = 0, rank = 0;

  Shape() = default;
  Shape(size_t all) : count(all) {}  // NOLINT: a count is a shape

  size_t piece(size_t sender, size_t receiver) const {
    switch (by) {
      case By::all: return count;
      case By::sender: return counts[sender];
      case By::receiver: return counts[receiver];
      case By::own: return sender == size_t(rank) ? counts[receiver] : receiver == size_t(rank) ? received[sender] : 0;
      case By::pair: return counts[sender * size_t(ranks) + receiver];
    }
    return 0;
  }

  // Elements of the vector or the piece that a range is part of. The longest piece is that of the pieces known here.
  size_t of(const Range& range) const {
    if (by == By::all) return count;
    const auto bounds = [&](uint16_t who) {
      return who == any_rank ? std::pair<size_t, size_t>(0, size_t(ranks)) : std::pair<size_t, size_t>(who, who + 1u);
    };
    size_t longest = 0;
    auto [s, s_end] = bounds(range.sender);
    for (; s < s_end; ++s) {
      auto [r, r_end] = bounds(range.receiver);
      for (; r < r_end; ++r) longest = std::max(longest, piece(s, r));
    }
    return longest;
  }
};

}  // namespace coll::plan
