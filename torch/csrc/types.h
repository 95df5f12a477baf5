// SPDX-License-Identifier: BSD-3-Clause
// The table of reductions: the operation and datatype of libcoll that compute torch's operation on a type.
#pragma once

#include <memory>

#include <coll/coll.h>

#include "compat.h"

namespace torch_coll {

struct Reduction {
  coll_datatype type;
  coll_op op;
  bool average = false;                // divide the sum by the number of ranks afterwards
  std::shared_ptr<const void> scaled;  // of PREMUL_SUM: keeps `op`, a scaled sum of libcoll
};

// Throws if torch's operation is not defined for the type.
Reduction reduction_of(const c10d::ReduceOp& op, at::ScalarType type);

}  // namespace torch_coll
