// SPDX-License-Identifier: BSD-3-Clause
// Fortran's pairs of reals: a value and its place, both REAL or both DOUBLE PRECISION.
#pragma once

#include <coll/coll.h>

namespace coll::shim {

enum class RealPair : unsigned char { none, single, twice };  // MPI_2REAL, MPI_2DOUBLE_PRECISION

// Makes operations of libcoll for them. Once, before any location_of().
void learn_pairs();

// MPI_MINLOC or MPI_MAXLOC, given as COLL_MINLOC or COLL_MAXLOC, on such pairs; 0 when there is none.
coll_op location_of(RealPair pair, coll_op op);

}  // namespace coll::shim
