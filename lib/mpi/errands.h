// SPDX-License-Identifier: BSD-3-Clause
// MPI calls on behalf of the shim's own threads.
//
// The ranks agree about a communicator in a thread of the shim (background.h), which needs messages. MpiLibrary
// MPI_THREAD_MULTIPLE that thread must not call MPI, so the program's threads do it, in the progress of their own MPI
// calls. At MPI_THREAD_MULTIPLE the thread calls MPI itself, because there the progress may run under locks of the
// library.
#pragma once

#include <atomic>

namespace coll::shim {

class Errand {
 public:
  // Calls MPI without waiting; returns true if all is done.
  virtual bool step() = 0;

 protected:
  ~Errand() = default;
};

// Sets whether threads of the shim may call MPI. Must be called before the first errand.
void let_threads_call_mpi(bool may);

// Runs an errand; returns when it is done. Called in a thread of the shim.
void run_errand(Errand &errand);

// Does one step of each pending errand; called in a thread of the program that is inside an MPI call.
extern std::atomic<int> errands_left;
void step_errands();

}  // namespace coll::shim
