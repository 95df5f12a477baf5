// SPDX-License-Identifier: BSD-3-Clause
#include "transport/life.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <unistd.h>

#include "transport/process.h"

namespace coll::transport {

namespace {

int64_t now_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

void describe_owner(LifeMark& mark) {
  // Of the first thread: in /proc/self/stat an emulator of user programs, such as qemu, shows times and addresses of its
  // own, while peers read the kernel's. In a /proc of another namespace the process has another number.
  char first_thread[32];
  snprintf(first_thread, sizeof first_thread, "self/task/%d", int(getpid()));
  ProcessStat own = stat_of(first_thread);
  if (!own.known) own = stat_of("self");
  mark.start = own.start;
  mark.stack = own.stack;
  mark.time_space = namespace_number("time");
}

Life::Life(int pid) : pid_(pid), last_look_ms_(now_ms()) {}

bool Life::looks_dying(const LifeMark& mark) const {
  constexpr unsigned long signaled = 0x400;  // PF_SIGNALED of the kernel, the same since its first versions
  char number[16];
  snprintf(number, sizeof number, "%d", pid_);
  const ProcessStat found = stat_of(number);
  if (!found.known) return false;
  const bool killed = (found.flags & signaled) != 0;
  // The first thread of a process may end before others.
  const bool zombie = (found.state == 'Z' || found.state == 'X') && found.threads <= 1;
  const bool number_is_anothers =
      mark.start != 0 && found.start != mark.start && mark.time_space == namespace_number("time");
  const bool another_program = mark.stack != 0 && found.stack != 0 && found.stack != mark.stack;
  return killed || zombie || number_is_anothers || another_program;
}

bool Life::is_dying(const LifeMark& mark) const {
  if (mark.ended() || found_dying_.load(std::memory_order_relaxed)) return true;
  if (pid_ == 0) return false;
  static std::atomic<int64_t> last_of_any_ms = 0;
  const int64_t now = now_ms();
  const bool looks = now - last_look_ms_.load(std::memory_order_relaxed) >= dying_look_ms &&
                     now - last_of_any_ms.load(std::memory_order_relaxed) >= any_look_ms;
  if (!looks && mark.word.load(std::memory_order_relaxed) != 0) return false;
  bool found = kill(pid_, 0) != 0 && errno == ESRCH;
  if (!found && looks) {
    last_look_ms_.store(now, std::memory_order_relaxed);
    last_of_any_ms.store(now, std::memory_order_relaxed);
    found = looks_dying(mark);
  }
  if (found) found_dying_.store(true, std::memory_order_relaxed);
  return found;
}

}  // namespace coll::transport
