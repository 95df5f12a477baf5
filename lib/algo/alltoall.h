// SPDX-License-Identifier: BSD-3-Clause
// The generators of alltoall that do not read from the sender.
#pragma once

#include "algo/registry.h"

namespace coll::algo {

// Pieces pass through other ranks; one step moves all pieces whose remaining distance has the same binary digit. The
// number of steps is log2 p, but each byte moves up to log2 p times (CMA IV-C.2). Regular only, because a rank does not
// know the lengths of other ranks' pieces.
plan::Plan alltoall_bruck(const PlanRequest& request);

}  // namespace coll::algo
