// SPDX-License-Identifier: BSD-3-Clause
#include "worker.h"

#include <algorithm>
#include <atomic>
#include <pthread.h>
#include <unistd.h>

namespace torch_coll {
namespace {

using Clock = Work::Clock;
using std::chrono::microseconds;

constexpr microseconds shortest_nap{30}, longest_nap{250};
constexpr int yields_before_naps = 20;
constexpr std::chrono::milliseconds until_sleep{20};
// While threads wait for all works, only timeouts have to be checked.
constexpr std::chrono::milliseconds attended_nap{20};
// A round without progress takes less.
constexpr microseconds round_with_progress{4};

std::atomic<Worker*> current{nullptr};
std::atomic<pid_t> owner{0};

}  // namespace

Worker& Worker::get() {
  static std::mutex mutex;
  Worker* worker = current.load(std::memory_order_acquire);
  if (worker != nullptr && owner.load(std::memory_order_relaxed) == getpid()) return *worker;
  const std::lock_guard<std::mutex> lock(mutex);
  if (current.load() == nullptr || owner.load() != getpid()) {
    owner = getpid();
    current = new Worker;
  }
  return *current;
}

void Worker::add(c10::intrusive_ptr<Work> work) {
  bool wake = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    added_.push_back(std::move(work));
    if (!running_) {
      if (thread_.joinable()) thread_.join();
      stop_ = false;
      running_ = true;
      thread_ = std::thread([this] { run(); });
    }
    wake = asleep_;
    asleep_ = false;
  }
  if (wake) wake_.notify_one();
}

void Worker::stop() {
  Worker* const worker = current.load();
  if (worker == nullptr || owner.load() != getpid()) return;
  {
    const std::lock_guard<std::mutex> lock(worker->mutex_);
    worker->stop_ = true;
  }
  worker->wake_.notify_one();
  if (worker->thread_.joinable()) worker->thread_.join();
}

// Runs one round over the works; removes complete ones. Returns true if one of them was neglected.
bool Worker::look_after(std::vector<c10::intrusive_ptr<Work>>& works, Clock::time_point now) {
  bool neglected = false;
  for (const c10::intrusive_ptr<Work>& work : works) neglected |= work->neglected(now);
  if (neglected) coll_progress();
  for (c10::intrusive_ptr<Work>& work : works)
    if (work->done() || (work->neglected(now) && work->poll())) work.reset();
  works.erase(std::remove(works.begin(), works.end(), nullptr), works.end());
  return neglected;
}

// Waits at most this long for new works; a caller wakes the worker only if it `hears`.
void Worker::nap(Clock::duration length, bool hears) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (stop_ || !added_.empty()) return;
  asleep_ = hears;
  wake_.wait_for(lock, length, [this, hears] { return stop_ || (hears && !asleep_); });
  asleep_ = false;
}

// Moves new works to `works`; sleeps while there are none: for a while, then until a caller wakes it. Returns false at
// the end.
bool Worker::take_added(std::vector<c10::intrusive_ptr<Work>>& works, Clock::time_point busy) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (works.empty() && added_.empty() && !stop_) {
    if (Clock::now() - busy < until_sleep) {
      wake_.wait_for(lock, longest_nap, [this] { return stop_; });
    } else {
      asleep_ = true;
      wake_.wait(lock, [this] { return stop_ || !asleep_; });
    }
  }
  works.insert(works.end(), std::make_move_iterator(added_.begin()), std::make_move_iterator(added_.end()));
  added_.clear();
  running_ = !stop_;
  return running_;
}

void Worker::run() {
  pthread_setname_np(pthread_self(), "coll-worker");
  std::vector<c10::intrusive_ptr<Work>> works;
  microseconds length = shortest_nap;
  int idle_rounds = 0;
  Clock::time_point busy = Clock::now(), deadlines = busy, attended_since = busy;
  for (size_t before = 0; take_added(works, busy); before = works.size()) {
    if (works.empty()) continue;
    if (works.size() > before) length = shortest_nap, idle_rounds = 0, attended_since = Clock::now();

    const Clock::time_point start = Clock::now();
    const size_t looked_after = works.size();
    const bool neglected = look_after(works, start);
    busy = Clock::now();
    if (busy - deadlines > std::chrono::milliseconds(20)) {
      deadlines = busy;
      for (const c10::intrusive_ptr<Work>& work : works) work->check_deadline(busy);
    }
    if (!neglected) {
      const bool for_long = busy - attended_since > until_sleep;
      nap(for_long ? Clock::duration(attended_nap) : longest_nap, for_long);
    } else if (works.size() < looked_after || busy - start > round_with_progress * (1 + looked_after / 4)) {
      length = shortest_nap;
      idle_rounds = 0;
    } else if (idle_rounds++ < yields_before_naps) {
      std::this_thread::yield();
    } else {
      nap(length, false);
      length = std::min(length * 2, longest_nap);
    }
  }
}

}  // namespace torch_coll
