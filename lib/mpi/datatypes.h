// SPDX-License-Identifier: BSD-3-Clause
// What the shim needs to know of an MPI datatype.
#pragma once

#include "mpi/handles.h"
#include "mpi/pairs.h"

#include <coll/coll.h>

#include <cstddef>
#include <cstdint>

namespace coll::shim {

struct Datatype {
  std::size_t size_bytes;       // data in one element
  std::ptrdiff_t extent_bytes;  // from one element to the next
  coll_datatype type;           // for predefined operations, 0 when there is none
  std::uint32_t ops;            // bit n: MPI defines the predefined operation n (a coll_op) for it
  RealPair pair;                // of Fortran, for MPI_MINLOC and MPI_MAXLOC
  bool element_in_order;        // one element's data fill [0, size) in the order in which they are sent
  bool vector_in_order;         // and so do those of several elements in a row
  bool padded;                  // as block, but for gaps inside the element or behind it
  std::size_t data_end_bytes;   // from an element's start to the end of its data, if padded
  bool block;                   // an element can be moved as extent_bytes bytes without touching foreign memory

  // Whether `count` elements in memory look as they would when sent.
  bool in_order(MPI_Count count) const { return vector_in_order || (count == 1 && element_in_order); }
};

// Fills the table of predefined datatypes. Once, before any other call of this file.
bool learn_datatypes();
void forget_datatypes();

// NULL for a handle that is no committed datatype, or when nothing can be remembered of it.
const Datatype *datatype_of(MPI_Datatype handle);

// Whether it is one of MPI's own, which no program can free.
bool is_predefined(MPI_Datatype handle);

}  // namespace coll::shim
