// SPDX-License-Identifier: BSD-3-Clause
// More sources than one kernel takes, and user-defined functions: both fold one block of elements of all sources after
// the other, so that partial results stay in the cache and dst is stored to only after all sources have been read.
#include "exec/reducer.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "mem/copy.h"
#include "mem/types.h"

namespace coll::exec {

namespace {

// Memory for the partial results of one block: it is cut into slots of at most 4 KiB.
constexpr size_t scratch_bytes = 16384, most_slot_bytes = 4096, line_bytes = 64;

// One block of all sources, and the slots that are free for its partial results.
struct Block {
  const void* const* src;
  size_t offset_bytes, count;
  size_t slot_bytes;

  const char* source(int s) const { return static_cast<const char*>(src[s]) + offset_bytes; }
};

// Sources are cut into up to eight units of 8^k sources each, the last one possibly of fewer, and units likewise. Since
// 8^k is a power of two, the tree over the results of the units is the upper part of the tree over all sources.
class KernelTree {
 public:
  KernelTree(const Reducer& reducer, const Block& block)
      : kernel_(reducer.kernel), block_(block), widens_(mem::partial_type(reducer.type) != reducer.type) {}

  // Slots for all units of the highest level, and for eight of each level below.
  static size_t slots(int sources) {
    size_t below = 0;
    int unit = mem::max_sources;
    for (; unit * mem::max_sources < sources; unit *= mem::max_sources) below += mem::max_sources;
    return below + (sources + unit - 1) / unit;
  }

  void fold(void* dst, void* dst2, int sources, char* free) const {
    combine(kernel_.whole, kernel_.finish, dst, dst2, 0, sources, free);
  }

 private:
  // Sources [first, first + n): `few` combines them when one call can, else `of_units` combines the results of units.
  void combine(mem::ReduceFunction few, mem::ReduceFunction of_units, void* dst, void* dst2, int first, int n,
               char* free) const {
    if (n <= mem::max_sources) return combine_few(few, dst, dst2, block_.src + first, n);
    const void* operand[mem::max_sources];
    int operands = 0, unit = mem::max_sources;
    while (n > unit * mem::max_sources) unit *= mem::max_sources;
    for (int at = 0; at < n; at += unit, free += block_.slot_bytes) {
      const int in_unit = std::min(unit, n - at);
      operand[operands++] = in_unit == 1 && !widens_ ? block_.source(first + at) : free;
      if (operand[operands - 1] == free)
        combine(kernel_.begin, kernel_.join, free, nullptr, first + at, in_unit, free + block_.slot_bytes);
    }
    of_units(dst, dst2, operand, operands, block_.count);
  }

  void combine_few(mem::ReduceFunction few, void* dst, void* dst2, const void* const* src, int n) const {
    const size_t offset_bytes = block_.offset_bytes;
    if (offset_bytes == 0) return few(dst, dst2, src, n, block_.count);  // short vectors: spare them a copy of pointers
    const void* operand[mem::max_sources];
    for (int s = 0; s < n; s++) operand[s] = static_cast<const char*>(src[s]) + offset_bytes;
    few(dst, dst2, operand, n, block_.count);
  }

  const mem::ReduceKernel& kernel_;
  const Block& block_;
  const bool widens_;
};

// A user-defined function combines two operands, inout = in op inout.
class FunctionTree {
 public:
  FunctionTree(const Reducer& reducer, const Block& block) : reducer_(reducer), block_(block) {}

  // One slot for the result, and one for each left part of more than one source that contains another such part.
  static size_t slots(int sources) { return std::bit_width(static_cast<unsigned>(std::max(sources - 1, 1))); }

  void fold(void* dst, void* dst2, int sources, char* free) const {
    const size_t bytes = block_.count * reducer_.element_bytes;
    combine(free, 0, sources, free + block_.slot_bytes);
    mem::copy(dst, free, bytes);
    if (dst2 != nullptr) mem::copy(dst2, free, bytes);
  }

 private:
  // The right part is computed in `result`, because the function stores its result there.
  void combine(char* result, int first, int n, char* free) const {
    if (n == 1) return mem::copy(result, block_.source(first), block_.count * reducer_.element_bytes);
    const int left = static_cast<int>(std::bit_floor(static_cast<unsigned>(n - 1)));
    combine(result, first + left, n - left, free);
    if (left > 1) combine(free, first, left, free + block_.slot_bytes);
    reducer_.function(left > 1 ? free : block_.source(first), result, block_.count, reducer_.type, reducer_.context);
  }

  const Reducer& reducer_;
  const Block& block_;
};

// Combines pair by pair from the right, for built-in and user-defined operations.
class FromRight {
 public:
  FromRight(const Reducer& reducer, const Block& block) : reducer_(reducer), block_(block) {}

  static size_t slots(int) { return 1; }

  // REQUIRES: at least two sources.
  void fold(void* dst, void* dst2, int sources, char* free) const {
    const void* pair[] = {block_.source(sources - 2), block_.source(sources - 1)};
    for (int s = sources - 3; s >= 0; s--) {
      reducer_(free, nullptr, pair, 2, block_.count);
      pair[0] = block_.source(s);
      pair[1] = free;
    }
    reducer_(dst, dst2, pair, 2, block_.count);
  }

 private:
  const Reducer& reducer_;
  const Block& block_;
};

template <class Tree>
void fold_blocks(const Reducer& reducer, size_t partial_bytes, char* dst, char* dst2, const void* const* src,
                 int sources, size_t count) {
  alignas(line_bytes) char small[scratch_bytes];
  std::unique_ptr<char[]> large;
  char* free = small;
  const size_t slots = Tree::slots(sources);
  size_t slot_bytes = std::min(most_slot_bytes, scratch_bytes / slots / line_bytes * line_bytes);
  if (partial_bytes > slot_bytes) {
    slot_bytes = (partial_bytes + line_bytes - 1) / line_bytes * line_bytes;
    free = (large = std::make_unique_for_overwrite<char[]>(slots * slot_bytes)).get();
  }
  const size_t elements = slot_bytes / partial_bytes;
  for (size_t i = 0; i < count; i += elements) {
    const size_t offset_bytes = i * reducer.element_bytes;
    const Block block{src, offset_bytes, std::min(elements, count - i), slot_bytes};
    Tree(reducer, block).fold(dst + offset_bytes, dst2 != nullptr ? dst2 + offset_bytes : nullptr, sources, free);
  }
}

}  // namespace

void Reducer::many(void* dst, void* dst2, const void* const* src, int sources, size_t count) const {
  const auto fold = kernel != nullptr ? fold_blocks<KernelTree> : fold_blocks<FunctionTree>;
  const size_t partial_bytes = kernel != nullptr ? mem::datatype_size(mem::partial_type(type)) : element_bytes;
  fold(*this, partial_bytes, static_cast<char*>(dst), static_cast<char*>(dst2), src, sources, count);
}

void Reducer::from_right(void* dst, void* dst2, const void* const* src, int sources, size_t count) const {
  if (sources <= 2) return (*this)(dst, dst2, src, sources, count);
  fold_blocks<FromRight>(*this, element_bytes, static_cast<char*>(dst), static_cast<char*>(dst2), src, sources, count);
}

}  // namespace coll::exec
