// SPDX-License-Identifier: BSD-3-Clause
// MPI operations as libcoll's.
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

// What to give libcoll for one reduction, and the MPI library for its part of one over several nodes.
struct Reduction {
  coll_datatype type;
  coll_op op;
  bool commutes;
  std::size_t element_bytes;
  MPI_Datatype datatype;
  MPI_Op operation;
  // Elements with gaps, for padding.h; otherwise not set but for `padded`.
  bool padded;
  std::size_t data_bytes, data_end_bytes;
};

// Fills the table of predefined operations. Once, before any reduction_of().
void learn_operations();

// Which language the program's function is written in, hence what kind of handle it is called with.
enum class Language : bool { c, fortran };

// Called after MPI_Op_create and MPI_Op_free have succeeded below.
void remember_operation(MPI_Op handle, MPI_User_function *function, int commute, Language language);
void forget_operation(MPI_Op handle);

// False when the pair is left to the library below. Depends only on the operation and on properties of the
// datatype that are equal at all ranks. For a user-defined operation it also notes, for the calling thread,
// the handle that its function is to be called with.
bool reduction_of(MPI_Datatype datatype, MPI_Op op, Reduction *reduction);

// The same for a non-blocking collective, which goes on behind the call, in any thread, and after the program has freed
// operation and datatype. `keeper`, empty for predefined operations, must live until the collective is complete. False
// also for elements with gaps.
bool lasting_reduction_of(MPI_Datatype datatype, MPI_Op op, Reduction *reduction, std::shared_ptr<void> *keeper);

}  // namespace coll::shim
