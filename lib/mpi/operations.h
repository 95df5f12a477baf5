// SPDX-License-Identifier: BSD-3-Clause
// MPI operations and the operations of libcoll that stand for them.
#pragma once

#include "mpi/datatypes.h"
#include "mpi/handles.h"

#include <coll/coll.h>

#include <cstddef>
#include <memory>

namespace coll::shim {

struct Operation {
  coll_op op;
  bool is_user;
  bool commutes;
};

// The arguments of one reduction for libcoll, and for the MPI library if it reduces across nodes.
struct Reduction {
  coll_datatype type;
  coll_op op;
  bool commutes;
  std::size_t element_bytes;
  MPI_Datatype datatype;
  MPI_Op operation;
  // Elements with gaps (padding.h). If `padded` is false, the other two are not set.
  bool padded;
  std::size_t data_bytes, data_end_bytes;
};

// Fills the table of predefined operations. Must be called once, before any reduction_of().
void load_operations();

// The language of the program's function, which determines the kind of handle that it is called with.
enum class Language : bool { c, fortran };

// Called after MPI_Op_create and MPI_Op_free of the MPI library have succeeded.
void add_operation(MPI_Op handle, MPI_User_function *function, int commute, Language language);
void remove_operation(MPI_Op handle);

// Sets the arguments of a reduction. Returns false if the pair is forwarded, which depends only on the operation and on
// properties of the datatype that are equal on all ranks. For a user-defined operation it also stores, for the calling
// thread, the datatype handle that its function is called with.
bool reduction_of(MPI_Datatype datatype, MPI_Op op, Reduction *reduction);

// As reduction_of(), for a non-blocking collective, which runs after the call has returned, in any thread, and perhaps
// after the program has freed operation and datatype. `keeper` must be kept until the collective is complete; it is
// empty for predefined operations. Returns false for elements with gaps, too.
bool lasting_reduction_of(MPI_Datatype datatype, MPI_Op op, Reduction *reduction, std::shared_ptr<void> *keeper);

}  // namespace coll::shim
