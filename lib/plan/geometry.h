// SPDX-License-Identifier: BSD-3-Clause
// The position of a range once the count is known. This is the only file that computes offsets: the executor, the
// verifier, the counters and the simulator all use it, so they cannot disagree.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "plan/plan.h"
#include "plan/shape.h"

namespace coll::plan {

inline constexpr size_t cache_line_bytes = 64;

// Elements [low, low + length) of the vector or piece; chunk_low is the first element of the chunk that contains them.
struct Extent {
  size_t low = 0;
  size_t length = 0;
  size_t chunk_low = 0;
};

// A range bound to a shape. bind() does all divisions, so that steps need none.
struct Geometry {
  size_t part_low = 0, part_length = 0;
  size_t chunk = 0;  // elements of a full chunk
  size_t trips = 0;  // iterations of a loop over the range, the same for every part; at least 1 unless a piece is empty
  size_t tail = 0;   // elements of the last chunk of the part, 0 if the part is empty
  size_t block = 0;  // elements of a full sub-block of a full chunk
  size_t tail_block = 0;  // elements of a full sub-block of the last chunk
  size_t sub = 0, subs = 1, span = 1;
  size_t unit = 1;  // sub-blocks are multiples of this many elements

  // Elements of one block when `length` elements are split into `blocks`, in multiples of `unit`.
  static size_t block_length(size_t length, size_t blocks, size_t unit) {
    size_t even = (length + blocks - 1) / blocks;
    return (even + unit - 1) / unit * unit;
  }

  // Elements per cache line, so that blocks begin on cache lines, if the element size divides a line; else 1.
  static size_t unit_of(size_t element_bytes) {
    return element_bytes < cache_line_bytes && cache_line_bytes % element_bytes == 0 ? cache_line_bytes / element_bytes
                                                                                     : 1;
  }

  static Geometry bind(const Range& range, const Shape& shape, size_t element_bytes) {
    const size_t count = shape.of(range);
    Geometry g;
    g.unit = unit_of(element_bytes);
    size_t part = range.parts == 1 ? count : block_length(count, range.parts, g.unit);
    g.part_low = std::min(count, part * range.part);
    g.part_length = std::min(count - g.part_low, part);
    g.chunk =
        range.chunk_bytes == 0 ? std::max<size_t>(part, 1) : std::max<size_t>(range.chunk_bytes / element_bytes, 1);
    g.trips = std::max<size_t>((part + g.chunk - 1) / g.chunk, range.is_piece() ? 0 : 1);
    g.sub = range.sub;
    g.subs = range.subs;
    g.span = range.span;
    g.tail = g.part_length == 0 ? 0 : (g.part_length - 1) % g.chunk + 1;
    if (range.subs > 1) {
      g.block = block_length(g.chunk, range.subs, g.unit);
      g.tail_block = block_length(g.tail, range.subs, g.unit);
    }
    return g;
  }

  // Returns the extent of iteration `index` of a loop (0 outside a loop). The extent is empty from iteration `trips`
  // on, which a loop over the longest of several pieces may reach. Every chunk is split evenly, also the last one.
  // A loop goes from the end of the vector to its beginning: the caller wrote the end last, so it is still in the
  // cache, and the beginning, which the caller will read first, is copied last.
  Extent at(size_t index) const {
    Extent e;
    if (index >= trips) return e;
    size_t begin = std::min(part_length, (trips - 1 - index) * chunk);
    size_t length = std::min(part_length - begin, chunk);
    e.chunk_low = part_low + begin;
    if (subs == 1) {
      e.low = e.chunk_low;
      e.length = length;
      return e;
    }
    size_t b = length == chunk ? block : tail_block;
    size_t sub_begin = std::min(length, b * sub);
    e.low = e.chunk_low + sub_begin;
    e.length = std::min(length - sub_begin, b * span);
    return e;
  }
};

// The block of a slot that an operand names.
inline size_t slot_block(const View& view, const Operand& operand) { return view.blocks == 1 ? 0 : operand.block; }

// Maximum number of iterations of a loop of an irregular plan. Ranks know only the lengths of their own pieces, so
// flags advance by this constant whatever the lengths are.
inline constexpr uint64_t most_irregular_passes = uint64_t(1) << 22;

// Upper bound of every flag of the plan for this shape: the communicator's base advances by it.
inline uint64_t last_value(const Plan& plan, const Shape& shape, size_t element_bytes) {
  if (plan.smallest_chunk_bytes == 0) return plan.largest_value;
  if (plan.irregular) return plan.largest_value + most_irregular_passes;
  size_t chunk = std::max<size_t>(plan.smallest_chunk_bytes / element_bytes, 1);
  return plan.largest_value + (shape.count + chunk - 1) / chunk + 1;
}

}  // namespace coll::plan
