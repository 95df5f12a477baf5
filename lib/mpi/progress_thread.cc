// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/progress_thread.h"

#include "mpi/choice.h"
#include "mpi/signal_free_thread.h"

#include <algorithm>
#include <chrono>
#include <sys/prctl.h>

namespace coll::shim {

namespace {

using std::chrono::microseconds;

// A peer that has just moved data has more within tens of microseconds; one that computes may have none for milliseconds.
constexpr microseconds shortest_nap{20};
constexpr microseconds longest_nap{200};
// From the start of a collective on. If the program waits for a short one at once, that is over by then.
constexpr microseconds first_nap{100};

}  // namespace

bool wants_progress_thread() {
  return choice_of("COLL_PROGRESS", {"calls", "thread"}, "collectives progress inside MPI calls only") == 1;
}

bool ProgressThread::start() {
  thread_ = signal_free_thread([this] { run(); });
  return thread_.joinable();
}

void ProgressThread::wake() {
  if (!is_asleep_) return;
  is_asleep_ = false;
  woken_.notify_one();
}

void ProgressThread::end() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    woken_.notify_one();
  }
  thread_.join();
}

void ProgressThread::run() {
  pthread_setname_np(pthread_self(), "coll-progress");
  prctl(PR_SET_TIMERSLACK, 1);  // the default makes a nap 50 us longer
  std::unique_lock lock(mutex_);
  microseconds nap = first_nap;
  while (!is_ending_) {
    switch (round_()) {
      case Outcome::nothing_active:
        is_asleep_ = true;
        woken_.wait(lock, [this] { return !is_asleep_ || is_ending_; });
        nap = first_nap;
        break;
      case Outcome::nothing_moved: nap = std::min(2 * nap, longest_nap); break;
      case Outcome::moved: nap = shortest_nap; break;
    }
    woken_.wait_for(lock, nap, [this] { return is_ending_; });
  }
}

}  // namespace coll::shim
