// SPDX-License-Identifier: BSD-3-Clause
// Puts the life marks of this process into lists of robust futexes (set_robust_list(2)). The kernel walks such a list
// when the thread that has registered it ends, so a keeper is a thread that sleeps as long as its process lives and
// runs its program: exit, a signal and execve() end it. It has a list of its own because the list of any other thread
// belongs to the C library.
//
// Invariants
//  1. The kernel may walk a list while other threads of the process still run for a moment. At every moment the list,
//     followed from its head, contains every registered mark and leads back to the head: a mark gets its pointer to the
//     next entry before the one store that makes it part of the list; one store takes it out, and its own pointer
//     stays.
//  2. A mark is taken out before its memory is unmapped. If a process ends at that moment, the walk may meet unmapped
//     memory and stop; the peers then depend on their checks of /proc, see Life::is_dying().
//  3. Once a mark is part of a list, only the kernel writes to its word.
//  4. The kernel follows at most 2048 entries: no keeper has more than marks_per_keeper marks.
//  5. A keeper receives no signal. When all threads of the program have ended, it ends the process as the last of them
//     would have: it calls exit(0). Otherwise it runs no code of the program.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/life.h"

namespace coll::transport {

inline constexpr size_t marks_per_keeper = 2000;

struct Keeper;

// Registers a mark of this process as long as this object lives. A copy in a child after fork() does nothing.
class LifeRegistration {
 public:
  // Starts a keeper if none has room. If none can be started, or the system has no robust futexes, the word stays 0.
  // REQUIRES: the mark is zero, and stays mapped. Thread safe.
  explicit LifeRegistration(LifeMark& mark);
  ~LifeRegistration();
  LifeRegistration(const LifeRegistration&) = delete;
  LifeRegistration& operator=(const LifeRegistration&) = delete;

 private:
  LifeMark& mark_;
  Keeper* keeper_;       // null: not registered
  uint64_t generation_;  // of the process that registered it
};

}  // namespace coll::transport
