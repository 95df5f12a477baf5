// SPDX-License-Identifier: BSD-3-Clause
// The communicators of this process. A child after fork() has copies of them, but not their shared memory: the copies are
// disowned before fork() returns there.
#pragma once

#include <cstddef>

namespace coll::comm {

class Comm;

// Thread safe.
void add_living(Comm& comm);
// One that was not added may be removed.
void remove_living(Comm& comm);
size_t living_communicators();

}  // namespace coll::comm
