// SPDX-License-Identifier: BSD-3-Clause
// Fortran's pairs of reals: a value and its location, both REAL or both DOUBLE PRECISION.
#pragma once

#include <coll/coll.h>

namespace coll::shim {

enum class RealPair : unsigned char { none, single, twice };  // MPI_2REAL, MPI_2DOUBLE_PRECISION

// Creates the operations of libcoll for them. Must be called once, before any location_of().
void create_pair_operations();

// Returns libcoll's operation for COLL_MINLOC or COLL_MAXLOC on such pairs; 0 for any other operation.
coll_op location_of(RealPair pair, coll_op op);

}  // namespace coll::shim
