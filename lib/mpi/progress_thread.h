// SPDX-License-Identifier: BSD-3-Clause
// COLL_PROGRESS=thread: a thread of the shim that advances started collectives while the program computes.
//
// The thread calls libcoll and never MPI, so it may run at every thread level. Between rounds it naps, rather than yields,
// because a rank that is bound to one core shares that core with its thread: a yield would give the core away for a whole
// time slice of the scheduler, while a thread that wakes up usually preempts the program.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace coll::shim {

// Whether COLL_PROGRESS asks for the thread.
bool wants_progress_thread();

class ProgressThread {
 public:
  enum class Outcome { nothing_active, nothing_moved, moved };
  using Round = Outcome();

  // The thread calls `round`, which advances the active collectives, with `mutex` locked.
  ProgressThread(std::mutex &mutex, Round *round) : mutex_(mutex), round_(round) {}

  // Returns false if the system has no thread to give.
  bool start();
  // Ends the sleep without an active collective, because there is one. The caller has locked the mutex.
  void wake();
  // Ends the thread and waits until it has ended. The caller has not locked the mutex.
  void end();

 private:
  void run();

  std::mutex &mutex_;
  Round *const round_;
  std::condition_variable woken_;
  bool is_asleep_ = false;  // no collective is active; protected by the mutex
  bool is_ending_ = false;  // likewise
  std::thread thread_;
};

}  // namespace coll::shim
