// SPDX-License-Identifier: BSD-3-Clause
// One operation on one datatype, ready to combine any number of sources: a SIMD kernel, or the caller's own function.
#pragma once

#include <cstddef>
#include <vector>

#include "coll/coll.h"
#include "mem/reduce.h"

namespace coll::exec {

struct Reducer {
  mem::ReduceKernel kernel;             // built-in operations
  coll_op_function function = nullptr;  // user-defined ones
  void* context = nullptr;
  coll_datatype type = 0;
  size_t element_bytes = 1;
  bool commutative = true;

  // dst[i] (and dst2[i] unless null) = fold(0, sources), the balanced tree of mem/reduce.h over all src[k][i].
  // This holds for built-in operations and user-defined ones. 1 <= sources <= 65535. dst, and dst2, may be one of the
  // sources. Up to eight sources of a built-in operation are combined in registers; partial results of more stay in the
  // first-level cache. Built-in operations on 16-bit floats round once.
  void operator()(void* dst, void* dst2, const void* const* src, int sources, size_t count) const {
    if (kernel != nullptr && sources <= mem::max_sources) [[likely]]
      kernel(dst, dst2, src, sources, count);
    else many(dst, dst2, src, sources, count);
  }

  // The same, but src[0][i] op (src[1][i] op (src[2][i] op ...)), pair by pair. REQUIRES: not a built-in operation on
  // 16-bit floats, which would be rounded each time.
  void from_right(void* dst, void* dst2, const void* const* src, int sources, size_t count) const;

 private:
  void many(void* dst, void* dst2, const void* const* src, int sources, size_t count) const;
};

}  // namespace coll::exec
