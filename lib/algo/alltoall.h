// SPDX-License-Identifier: BSD-3-Clause
// The generators of alltoall that do not read from the sender.
#pragma once

#include "algo/registry.h"

namespace coll::algo {

// Pieces pass through other ranks, all those that have the same binary digit of their distance to go in one step: startups
// grow with the logarithm of p, bytes too (CMA IV-C.2). Regular only: nobody knows the lengths of others' pieces.
plan::Plan alltoall_bruck(const Request& request);

}  // namespace coll::algo
