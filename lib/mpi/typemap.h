// SPDX-License-Identifier: BSD-3-Clause
// Reads how a derived datatype was made.
#pragma once

#include "mpi/handles.h"

namespace coll::shim {

// Whether the data of one element fill [0, size) in the order in which they are sent. "No" may also mean that
// the way it was made is not understood (subarrays, distributed arrays, thousands of blocks): "no" costs a copy,
// a wrong "yes" would cost the result.
bool element_in_order(MPI_Datatype type);

}  // namespace coll::shim
