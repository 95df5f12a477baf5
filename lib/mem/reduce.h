// SPDX-License-Identifier: BSD-3-Clause
// Reduce kernels: one pass over up to eight sources.
//
//   dst[i] = fold(0, sources), a balanced tree in the order of the sources:
//   fold(i, i + 1) = src[i],  fold(i, j) = fold(i, i + m) op fold(i + m, j),  m the largest power of two below j - i
//
// So eight sources give ((0+1)+(2+3))+((4+5)+(6+7)), three (0+1)+2, five ((0+1)+(2+3))+4. Nodes of the tree that cover
// aligned blocks of sources may be formed by separate calls: fold(0, 8) op fold(8, 13) is fold(0, 13).
//
// What every kernel guarantees
//  1. The tree depends on the number of sources only. Elements are never combined with other elements, a SIMD vector is
//     folded lane by lane, and no multiply and add is contracted. The result therefore has the same bits for every way
//     to cut the vector into chunks and for every SIMD target. Kernels of associative operations (all but sum and prod
//     of floating-point numbers) may combine in another grouping, which gives the same bits.
//  2. One source is copied bit by bit.
//  3. float16 and bfloat16 fold in float and round once, to nearest even, when the result is stored. Between calls that
//     form one result, partial results have the datatype partial_type(type) (types.h), which is float for these two:
//     `begin` folds elements into partial results, `join` partial results, and `finish` stores elements again. Results
//     then have the same bits as one call would give. For all other datatypes the three are the same as `whole`.
//  4. Integers wrap around. Logical operations give 0 or 1.
//  5. min and max give NaN when an operand is NaN, whatever the order; of equal operands (-0 and +0) the first stays.
//     minloc and maxloc take the lower index of equal values; a NaN wins, of several NaN the lower index.
//     A NaN that sum or prod gives has unspecified sign and payload.
//  6. A complex product is C's (Annex G): when both parts come out as NaN, infinities are recovered.
#pragma once

#include <cstddef>

#include "coll/coll.h"

namespace coll::mem {

inline constexpr int max_sources = 8;

// dst, dst2, src[k]: [count] elements at any address. dst2 may be null; else it receives the same values in
// the same pass. dst, and also dst2, may be exactly one of the sources (in place) if the elements of both have the same
// size; no other overlap is allowed. 1 <= sources <= max_sources. Never fails.
using ReduceFunction = void (*)(void* dst, void* dst2, const void* const* src, int sources, size_t count);

// The kernels of one operation on one datatype. All are null when the operation is not defined for the type.
struct ReduceKernel {
  ReduceFunction whole = nullptr;   // elements to elements
  ReduceFunction begin = nullptr;   // elements to partial results; a single source is converted
  ReduceFunction join = nullptr;    // partial results to partial results
  ReduceFunction finish = nullptr;  // partial results to elements

  void operator()(void* dst, void* dst2, const void* const* src, int sources, size_t count) const {
    whole(dst, dst2, src, sources, count);
  }
  friend bool operator==(const ReduceKernel& kernel, std::nullptr_t) { return kernel.whole == nullptr; }
};

// The kernels for an operation and a datatype on the SIMD target in use (simd.h). Cheap, but meant to be looked up once
// per collective. Thread safe.
ReduceKernel reduce_kernel(coll_op op, coll_datatype type);

}  // namespace coll::mem
