// SPDX-License-Identifier: BSD-3-Clause
// A communicator that the program frees, by MPI_Comm_free or MPI_Comm_disconnect.
//
// MPI calls the program's delete callbacks on it, which may still call collectives. Had these found the shim's attribute
// deleted already, they would attach another one, which MPI never deletes: the next communicator with this handle would
// find it. So the attribute goes first, and collectives that the callbacks call are forwarded, at every rank.
#pragma once

#include "mpi/handles.h"

namespace coll::shim {

// Frees what is kept for `comm`; while it lives, ends() is true for this thread.
class Ending {
 public:
  explicit Ending(MPI_Comm comm);
  ~Ending() { innermost = outer_; }
  Ending(const Ending &) = delete;
  Ending &operator=(const Ending &) = delete;

  // Whether this thread frees `comm` just now. (Another one may already have a new communicator with this handle.)
  static bool ends(MPI_Comm comm);

 private:
  MPI_Comm comm_;
  const Ending *outer_;
  static constinit thread_local const Ending *innermost;
};

}  // namespace coll::shim
