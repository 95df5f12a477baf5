// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/mpi_tasks.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace coll::shim {

std::atomic<int> mpi_tasks_left{0};

namespace {

// Between two steps of a thread that may call MPI itself: short beside the agreement about a communicator, and long
// enough to leave the core to others.
constexpr std::chrono::microseconds step_interval{50};

// On the stack of the thread that waits for the task.
struct Waiting {
  MpiTask &task;
  bool done;
  Waiting *next;
};

bool threads_call_mpi = false;
std::mutex mutex;
std::condition_variable some_done;
Waiting *first = nullptr;

}  // namespace

void let_threads_call_mpi(bool may) { threads_call_mpi = may; }

void run_mpi_task(MpiTask &task) {
  if (threads_call_mpi) {
    while (!task.step()) std::this_thread::sleep_for(step_interval);
    return;
  }
  std::unique_lock lock(mutex);
  Waiting waiting{task, false, first};
  first = &waiting;
  mpi_tasks_left.fetch_add(1, std::memory_order_relaxed);
  some_done.wait(lock, [&] { return waiting.done; });
}

// One thread of the program at a time calls MPI for others; threads that find the mutex locked continue. The steps' own
// MPI calls do not come here again, because the progress hook does not nest (hook.cc).
void step_mpi_tasks() {
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock) return;
  bool any = false;
  for (Waiting **link = &first; *link != nullptr;) {
    Waiting &waiting = **link;
    if (!waiting.task.step()) {
      link = &waiting.next;
      continue;
    }
    *link = waiting.next;
    mpi_tasks_left.fetch_sub(1, std::memory_order_relaxed);
    waiting.done = any = true;
  }
  if (any) some_done.notify_all();
}

}  // namespace coll::shim
