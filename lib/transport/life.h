// SPDX-License-Identifier: BSD-3-Clause
// How a rank detects that a peer has exited, was killed, or has called execve(): by one load, without a descriptor.
//
// A rank has a LifeMark in memory that it shares with its peers. The kernel sets FUTEX_OWNER_DIED in the mark's word
// when the rank's process ends or executes another program, because a thread of that process has the word in its list
// of robust futexes (keeper.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <linux/futex.h>

namespace coll::transport {

// In shared memory that reads as zero at first. Writers: the owner, and the kernel on its behalf.
struct LifeMark {
  robust_list entry;    // of the kernel's list; an address in the owner's address space
  robust_list* before;  // the entry that leads to this one; an address there, too
  uint64_t start;       // of the process, as in ProcessStat; 0: unknown
  uint64_t stack;       // where its program's stack begins: differs after execve(); 0: unknown
  uint32_t time_space;  // the time namespace by which `start` counts
  // The id of the thread that has the mark in its list, until the kernel changes it. 0: there is no such thread.
  std::atomic<uint32_t> word;

  // Whether the owner ends or has ended: exit, a signal, execve(). Other threads of it may store for a moment yet.
  bool ended() const { return (word.load(std::memory_order_acquire) & FUTEX_OWNER_DIED) != 0; }
};
static_assert(offsetof(LifeMark, entry) == 0 && sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

// Sets `start`, `stack` and `time_space` to those of the calling process; the rest stays. Called by keeper.cc.
void describe_owner(LifeMark& mark);

// Minimum time between two checks of one peer in /proc by this process, and between two of any peers: a check takes a
// hundred microseconds.
inline constexpr int64_t dying_look_ms = 100, any_look_ms = 50;

// Whether another process is alive. One object serves all communicators that this process shares with it. Thread safe.
class Life {
 public:
  // pid 0: a process of another pid namespace. Only its mark shows whether it is alive.
  explicit Life(int pid);
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  // True if the owner of the mark, which is that process, has exited or called execve(), or if a signal is ending it:
  // its threads no longer run the program's code, or stop in a moment, but the kernel may need minutes to write its
  // core before it changes the mark. That, and the end of a process whose mark no thread has in its list, are checked
  // in /proc only periodically: false may be outdated.
  bool is_dying(const LifeMark& mark) const;

 private:
  bool looks_dying(const LifeMark& mark) const;

  const int pid_;
  mutable std::atomic<bool> found_dying_ = false;
  mutable std::atomic<int64_t> last_look_ms_;
};

}  // namespace coll::transport
