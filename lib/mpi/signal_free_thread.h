// SPDX-License-Identifier: BSD-3-Clause
// Threads of the shim, in which no signal handler of the program runs.
#pragma once

#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

namespace coll::shim {

// A thread that runs `function` with all signals blocked. Not joinable if the system has no thread to give.
template <class Function>
std::thread signal_free_thread(Function &&function) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread(std::forward<Function>(function));
  } catch (const std::system_error &) {}
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace coll::shim
