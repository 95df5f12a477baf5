// SPDX-License-Identifier: BSD-3-Clause
// The blocks of ranks that in_order_tree joins, as a binary counter carries: rank 3 completes the blocks of ranks 0 and 1
// and of rank 2, whose results it joins with its own input. A result that waits to be joined is in a place, and the
// result of a block that begins at rank r is in the place whose number is the number of set bits of r. So log2 p places
// are sufficient for p ranks.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

namespace coll::algo {

// `size` ranks from `first` on; the last of them makes their result.
struct JoinedBlock {
  int first, size;
  int maker() const { return first + size - 1; }
};

// The blocks before `rank` that its own input completes, in rank order, of the ranks 0 to `last`; for the last rank all
// blocks before it. Empty for even ranks but the last one.
inline std::vector<JoinedBlock> blocks_joined_by(int rank, int last) {
  std::vector<JoinedBlock> blocks;
  for (int size = 1, first = rank; first > 0; size *= 2) {
    if ((rank & size) != 0) blocks.push_back({first -= size, size});
    else if (rank != last) break;
  }
  std::ranges::reverse(blocks);
  return blocks;
}

// The place of the result of a block that begins at rank `first`.
inline int place_of_block(int first) { return std::popcount(unsigned(first)); }

// The first rank that uses the place; its memory holds it.
inline int holder_of_place(int place) { return (2 << place) - 2; }

}  // namespace coll::algo
