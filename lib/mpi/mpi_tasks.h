// SPDX-License-Identifier: BSD-3-Clause
// MPI calls on behalf of the shim's own threads.
//
// The ranks agree about a communicator in a thread of the shim (background.h), which needs messages. Below
// MPI_THREAD_MULTIPLE that thread must not call MPI, so the program's threads do it, in the progress of their own MPI
// calls. At MPI_THREAD_MULTIPLE the thread calls MPI itself, because there the progress may run under locks of the
// library.
#pragma once

#include <atomic>

namespace coll::shim {

class MpiTask {
 public:
  // Calls MPI without waiting; returns true if all is done.
  virtual bool step() = 0;

 protected:
  ~MpiTask() = default;
};

// Sets whether threads of the shim may call MPI. Must be called before the first task.
void let_threads_call_mpi(bool may);

// Runs a task; returns when it is done. Called in a thread of the shim.
void run_mpi_task(MpiTask &task);

// The number of tasks that are not done: a cheap test before step_mpi_tasks().
extern std::atomic<int> mpi_tasks_left;
// Does one step of each of them; called by the progress hook, in a thread of the program that is inside an MPI call.
void step_mpi_tasks();

}  // namespace coll::shim
