// SPDX-License-Identifier: BSD-3-Clause
// Data that is not contiguous, as the bytes that MPI sends.
//
// Ranks of one broadcast may describe the same message by different datatypes: those whose data is contiguous in
// sending order send and receive it in place, and the others pack. All of them handle the same bytes: on communicators
// of one node, MPI_Pack of both libraries writes the basic elements of the message one after another, without header or
// gaps (tests/mpi/bcast.c pairs all kinds of layout).
#pragma once

#include "mpi/datatypes.h"
#include "mpi/handles.h"

#include <cstddef>

namespace coll::shim {

// Pack, and unpack, `count` elements of `datatype`, which are `bytes` (at most INT_MAX) bytes of data. Return false if
// MPI reports an error.
bool pack(const void *buffer, int count, MPI_Datatype datatype, char *packed, std::size_t bytes);
bool unpack(const char *packed, std::size_t bytes, void *buffer, int count, MPI_Datatype datatype);

// As pack() and unpack(), for any number of bytes, in several calls of MPI if necessary, and for elements in a device's
// memory. Elements of more than INT_MAX bytes are packed part by part. They also return false if such an element is a
// distributed array, if there is no memory, or if a copy from or to a device fails.
bool pack_elements(const char *buffer, MPI_Count count, MPI_Datatype datatype, const Datatype &element, char *packed);
bool unpack_elements(const char *packed, char *buffer, MPI_Count count, MPI_Datatype datatype, const Datatype &element);

}  // namespace coll::shim
