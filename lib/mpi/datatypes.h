// SPDX-License-Identifier: BSD-3-Clause
// What the shim knows of MPI datatypes.
#pragma once

#include "mpi/handles.h"
#include "mpi/pairs.h"

#include <coll/coll.h>

#include <cstddef>
#include <cstdint>

namespace coll::shim {

struct Datatype {
  std::size_t size_bytes;       // bytes of data in one element
  std::ptrdiff_t extent_bytes;  // distance of two adjacent elements
  coll_datatype type;           // libcoll's datatype for predefined operations, 0 if there is none
  std::uint32_t ops;            // bit n: MPI defines the predefined operation n (a coll_op) for this datatype
  RealPair pair;                // Fortran's pairs, for MPI_MINLOC and MPI_MAXLOC
  bool element_in_order;        // the data of one element fills [0, size) in sending order
  bool vector_in_order;         // and so does the data of several adjacent elements
  bool padded;                  // as `block`, but with gaps in the element or at its end
  std::size_t data_end_bytes;   // offset of the end of an element's data, if `padded`
  bool block;                   // an element can be copied as extent_bytes bytes without touching other memory

  // Whether `count` elements in memory are the bytes that MPI sends.
  bool in_order(MPI_Count count) const { return vector_in_order || (count == 1 && element_in_order); }
};

// Fills the table of predefined datatypes. Must be called once, before any other function of this file. Returns false
// if MPI reports an error.
bool load_datatypes();
void unload_datatypes();

// Returns the description of a datatype, valid until the program frees the datatype; NULL if the handle is not a
// committed datatype, or there is no memory for the description. Thread safe.
const Datatype *datatype_of(MPI_Datatype handle);
// The same for the datatype of a message. `empty`: it has no elements, and any handle will do, also MPI_DATATYPE_NULL,
// because the peers enter the collective, whatever this rank passes for no data.
const Datatype *element_of(MPI_Datatype handle, bool empty);

// Whether it is a predefined datatype, which a program cannot free.
bool is_predefined(MPI_Datatype handle);

}  // namespace coll::shim
