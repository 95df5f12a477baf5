// SPDX-License-Identifier: BSD-3-Clause
// Scattered data as the bytes they are sent as.
//
// Ranks of one broadcast may describe the same message by different datatypes, so those whose data lie in order
// send and receive them where they lie, and these pack. Both see the same bytes: MPI_Pack of the two libraries
// puts the basic elements of the message one after another, without a header and without gaps, on the native
// communicators of one node (tests/mpi/bcast.c pairs every kind of layout with every other).
#pragma once

#include "mpi/datatypes.h"
#include "mpi/handles.h"

#include <cstddef>

namespace coll::shim {

// `count` elements of `datatype` are `bytes` (at most INT_MAX) bytes of data. False when MPI refuses.
bool pack(const void *buffer, int count, MPI_Datatype datatype, char *packed, std::size_t bytes);
bool unpack(const char *packed, std::size_t bytes, void *buffer, int count, MPI_Datatype datatype);

// The same for any number of bytes, in as many goes as it takes. Elements of more than INT_MAX bytes are taken apart;
// false also if one of them is a distributed array.
bool pack_elements(const char *buffer, MPI_Count count, MPI_Datatype datatype, const Datatype &element, char *packed);
bool unpack_elements(const char *packed, char *buffer, MPI_Count count, MPI_Datatype datatype, const Datatype &element);

}  // namespace coll::shim
