// SPDX-License-Identifier: BSD-3-Clause
// MPI calls on behalf of the shim's own threads.
//
// The ranks agree about a communicator in a thread of the shim (background.h), which needs messages. Below
// MPI_THREAD_MULTIPLE that thread must not call MPI: the program's threads do it for it, in the progress of their own MPI
// calls. At MPI_THREAD_MULTIPLE it calls MPI itself, since progress may then run under locks of the library.
#pragma once

#include <atomic>

namespace coll::shim {

class Errand {
 public:
  // Calls MPI and does not wait; true when all is done.
  virtual bool step() = 0;

 protected:
  ~Errand() = default;
};

// Whether threads of the shim may call MPI; to be told before the first errand.
void let_threads_call_mpi(bool may);

// Returns when the errand is done. In a thread of the shim.
void run_errand(Errand &errand);

// One step of each errand; in a thread of the program that is inside an MPI call.
extern std::atomic<int> errands_left;
void step_errands();

}  // namespace coll::shim
