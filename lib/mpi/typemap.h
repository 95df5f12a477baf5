// SPDX-License-Identifier: BSD-3-Clause
// Reads how a derived datatype was made.
#pragma once

#include "mpi/handles.h"

#include <functional>

namespace coll::shim {

// Blocks of an element, in the order in which they are sent: `count` elements of `part`, which is committed, from
// `displacement_bytes` on. Stops when `visit` returns false.
using VisitBlock = std::function<bool(MPI_Aint displacement_bytes, MPI_Count count, MPI_Datatype part)>;
// False: `visit` said so, or the way the type was made is not understood (distributed arrays).
bool for_each_block(MPI_Datatype type, const VisitBlock &visit);

// Whether the data of one element fill [0, size) in the order in which they are sent. "No" may also mean that
// the way it was made is not understood (subarrays, distributed arrays, thousands of blocks): "no" costs a copy,
// a wrong "yes" would cost the result.
bool element_in_order(MPI_Datatype type);

}  // namespace coll::shim
