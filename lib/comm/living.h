// SPDX-License-Identifier: BSD-3-Clause
// The list of this process's communicators. A child after fork() has copies of them, but not their shared memory, so
// the copies are disowned before fork() returns in the child.
#pragma once

#include <cstddef>
#include <list>

namespace coll::comm {

class Comm;

// The entry of a communicator in that list.
struct LivingEntry {
  bool is_listed = false;
  bool has_requests = false;
  std::list<Comm*>::iterator at;
};

// All these functions are thread-safe.
void add_living(Comm& comm);
// Does nothing for a communicator that is not in the list.
void remove_living(Comm& comm);
size_t living_communicators();
// Called when the communicator gets its first active request or has completed its last one.
void note_requests(Comm& comm, bool has_requests);
// Calls Comm::try_progress() of each communicator with active requests. Returns whether one of them returned true.
bool progress_living();

}  // namespace coll::comm
