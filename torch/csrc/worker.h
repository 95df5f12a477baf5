// SPDX-License-Identifier: BSD-3-Clause
// The thread that advances collectives while no thread waits for them, and checks their timeouts. One per process, for
// all groups.
//
// Calls that are waited for at once need no help and must not pay for it: a caller wakes the worker only from a sleep
// without timeout. Then it polls in short naps, and sleeps again after a while without works. Naps are short while
// works advance, and longer while threads wait for all of them.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "work.h"

namespace torch_coll {

class Worker {
 public:
  // The worker of this process; a child of fork() gets one of its own. Never destroyed.
  static Worker& get();

  void add(c10::intrusive_ptr<Work> work);

  // Ends the thread, at the end of the process. Works that are added later start it again.
  static void stop();

 private:
  void run();
  bool take_added(std::vector<c10::intrusive_ptr<Work>>& works, Work::Clock::time_point busy);
  void nap(Work::Clock::duration length, bool hears);
  bool look_after(std::vector<c10::intrusive_ptr<Work>>& works, Work::Clock::time_point now);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<c10::intrusive_ptr<Work>> added_;
  std::thread thread_;
  bool running_ = false, asleep_ = false, stop_ = false;
};

}  // namespace torch_coll
