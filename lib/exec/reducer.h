// SPDX-License-Identifier: BSD-3-Clause
// One operation on one datatype, ready to combine any number of sources: a SIMD kernel, or the caller's own function.
#pragma once

#include <cstddef>
#include <vector>

#include "coll/coll.h"
#include "mem/reduce.h"

namespace coll::exec {

struct Reducer {
  mem::ReduceKernel kernel = nullptr;   // built-in operations
  coll_op_function function = nullptr;  // user-defined ones
  void* context = nullptr;
  coll_datatype type = 0;
  size_t element_bytes = 1;
  bool commutative = true;

  // dst[i] (and dst2[i] unless null) = src[0][i] op src[1][i] op ..., in this order. dst, and dst2, may be one of the
  // sources. Eight sources are held in registers at a time, the partial result stays in the first-level cache.
  void operator()(void* dst, void* dst2, const void* const* src, int sources, size_t count) const {
    if (kernel != nullptr && sources <= mem::max_sources) [[likely]]
      kernel(dst, dst2, src, sources, count);
    else many(dst, dst2, src, sources, count);
  }

 private:
  void many(void* dst, void* dst2, const void* const* src, int sources, size_t count) const;
};

}  // namespace coll::exec
