// SPDX-License-Identifier: BSD-3-Clause
// Reports a wait for other ranks that lasts suspiciously long.
#pragma once

#include "mpi/log.h"
#include "mpi/signal_free_thread.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace coll::shim {

// Prints `line` as warn_once() does if the object lives longer than `allowed`. `line` must live as long. Creates a
// thread; prints nothing if there is none to create.
class Overdue {
 public:
  Overdue(std::chrono::seconds allowed, const char *line)
      : watch_(signal_free_thread([this, allowed, line] {
          std::unique_lock lock(mutex_);
          if (!changed_.wait_for(lock, allowed, [this] { return over_; })) warn_once("%s", line);
        })) {}
  ~Overdue() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      changed_.notify_one();
    }
    if (watch_.joinable()) watch_.join();
  }
  Overdue(const Overdue &) = delete;
  Overdue &operator=(const Overdue &) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // guarded by mutex_
  std::thread watch_;  // last: it uses the other members
};

}  // namespace coll::shim
