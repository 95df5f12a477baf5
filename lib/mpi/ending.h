// SPDX-License-Identifier: BSD-3-Clause
// A communicator that the program frees, by MPI_Comm_free or MPI_Comm_disconnect.
//
// MPI calls the program's delete callbacks, which may still call collectives. If these found the shim's attribute
// already deleted, they would attach a new one, which MPI never deletes: the next communicator with this handle would
// find it. So the shim deletes its attribute first, and collectives that the callbacks call are forwarded, on every
// rank.
#pragma once

#include "mpi/handles.h"

namespace coll::shim {

// Frees the shim's state of `comm`. While an object of this class exists, ends(comm) is true for this thread.
class Ending {
 public:
  explicit Ending(MPI_Comm comm);
  ~Ending() { innermost = outer_; }
  Ending(const Ending &) = delete;
  Ending &operator=(const Ending &) = delete;

  // Whether this thread is freeing `comm`. (Another thread may already have a new communicator with the same handle.)
  static bool ends(MPI_Comm comm);

 private:
  MPI_Comm comm_;
  const Ending *outer_;
  static constinit thread_local const Ending *innermost;
};

}  // namespace coll::shim
