// SPDX-License-Identifier: BSD-3-Clause
// Reduce kernels: one pass over up to eight sources.
//
//   dst[i] = (((src[0][i] op src[1][i]) op src[2][i]) ...)       a strict left fold in the order of the sources
//
// What every kernel keeps
//  1. Elements are folded one by one and in source order, never across elements. The result therefore has the same
//     bits for every way to cut the vector into pieces and for every SIMD target. No multiply and add is contracted.
//  2. One source is copied bit by bit.
//  3. float16 and bfloat16 fold in float over all sources of one call and round once, to nearest even. A caller with
//     more than eight sources chains, giving dst as the first source of the next call: then each call rounds once,
//     so the grouping is part of the result and must not depend on placement or size.
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
// the same pass. dst, and also dst2, may be exactly one of the sources (in place); no other overlap is allowed.
// 1 <= sources <= max_sources. Never fails.
using ReduceKernel = void (*)(void* dst, void* dst2, const void* const* src, int sources, size_t count);

// The kernel for an operation and a datatype on the SIMD target in use (simd.h), null when the operation is not
// defined for the type. Cheap, but meant to be looked up once per collective. Thread safe.
ReduceKernel reduce_kernel(coll_op op, coll_datatype type);

}  // namespace coll::mem
