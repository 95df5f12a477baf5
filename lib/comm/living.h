// SPDX-License-Identifier: BSD-3-Clause
// The communicators of this process. A child after fork() has copies of them, but not their shared memory: the copies are
// disowned before fork() returns there.
#pragma once

#include <cstddef>
#include <list>

namespace coll::comm {

class Comm;

// Where a communicator is among them.
struct LivingPlace {
  bool is_listed = false;
  bool has_requests = false;
  std::list<Comm*>::iterator at;
};

// All are thread safe.
void add_living(Comm& comm);
// One that was not added may be removed.
void remove_living(Comm& comm);
size_t living_communicators();
// Whether the communicator has active requests, when that changes.
void note_requests(Comm& comm, bool has_requests);
// Comm::try_progress() of each that has active requests.
void progress_living();

}  // namespace coll::comm
