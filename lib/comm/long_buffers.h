// SPDX-License-Identifier: BSD-3-Clause
// What this rank reads and writes of its own in a call.
#pragma once

#include "comm/comm.h"

namespace coll::comm {

// Counts the use of long buffers of the call; those used often get huge pages, see mem/huge_pages.h. Thread safe.
void use_long_buffers(const Call& call, int rank, int ranks);

}  // namespace coll::comm
