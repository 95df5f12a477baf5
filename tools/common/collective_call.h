// SPDX-License-Identifier: BSD-3-Clause
// One call of any collective through the C API.
#pragma once

#include <cstddef>

#include "coll/coll.h"
#include "plan/plan.h"

namespace coll::tools {

// Number of blocks of the given size that the buffer holds: one, or one for each rank.
inline size_t blocks(plan::Collective collective, plan::Buffer buffer, int ranks) {
  return plan::has_blocks(collective, buffer) ? size_t(ranks) : 1;
}

// Whether the call stores a result in the rank's receive buffer.
inline bool has_result(plan::Collective collective, int rank, int root) {
  switch (collective) {
    case plan::Collective::barrier: return false;
    case plan::Collective::bcast: return rank != root;
    case plan::Collective::reduce:
    case plan::Collective::gather: return rank == root;
    case plan::Collective::exscan: return rank > 0;
    default: return true;
  }
}

// The buffer of a broadcast is `out`. `count` is that of the vector, or of one block.
struct CollectiveCall {
  plan::Collective collective = plan::Collective::barrier;
  const void* in = nullptr;
  void* out = nullptr;
  size_t count = 0;
  coll_datatype type = COLL_FLOAT;
  coll_op op = COLL_SUM;
  int root = 0;
};

coll_status perform(const CollectiveCall& call, coll_comm* comm);

}  // namespace coll::tools
