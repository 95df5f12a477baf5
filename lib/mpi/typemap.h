// SPDX-License-Identifier: BSD-3-Clause
// Reads the constructors of derived datatypes.
#pragma once

#include "mpi/handles.h"

#include <functional>

namespace coll::shim {

// Visits a block of an element: `count` elements of `part`, which is committed, at `displacement_bytes`. Returns false
// to stop.
using VisitBlock = std::function<bool(MPI_Aint displacement_bytes, MPI_Count count, MPI_Datatype part)>;
// Visits the blocks in sending order. Returns false if `visit` did, or the constructor is not supported (distributed
// arrays).
bool for_each_block(MPI_Datatype type, const VisitBlock &visit);

// Whether the data of one element fills [0, size) in sending order. It may also return false because the constructor is
// not supported (subarrays, distributed arrays, thousands of blocks): a false negative costs a copy, a false positive
// would give wrong results.
bool element_in_order(MPI_Datatype type);

}  // namespace coll::shim
