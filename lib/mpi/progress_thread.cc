// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/progress_thread.h"

#include "mpi/signal_free_thread.h"

#include <coll/shim.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <sys/prctl.h>

namespace coll::shim {

namespace {

using std::chrono::microseconds;

// A peer that has just moved data has more within tens of microseconds; one that computes may have none for milliseconds.
constexpr microseconds shortest_nap{20};
constexpr microseconds longest_nap{200};

}  // namespace

bool wants_progress_thread() {
  const char *choice = coll_setting("COLL_PROGRESS");
  return choice != nullptr && std::strcmp(choice, "thread") == 0;
}

bool ProgressThread::start() {
  thread_ = signal_free_thread([this] { run(); });
  return thread_.joinable();
}

void ProgressThread::wake() {
  wakes_++;
  woken_.notify_one();
}

void ProgressThread::end() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    wake();
  }
  thread_.join();
}

void ProgressThread::run() {
  pthread_setname_np(pthread_self(), "coll-progress");
  prctl(PR_SET_TIMERSLACK, 1);  // the default makes a nap 50 us longer
  std::unique_lock lock(mutex_);
  microseconds nap = shortest_nap;
  while (!is_ending_) {
    const auto is_woken = [this, before = wakes_] { return wakes_ != before; };
    const Outcome outcome = round_();
    nap = outcome == Outcome::nothing_moved ? std::min(2 * nap, longest_nap) : shortest_nap;
    if (outcome == Outcome::nothing_active) woken_.wait(lock, is_woken);
    else woken_.wait_for(lock, nap, is_woken);
  }
}

}  // namespace coll::shim
