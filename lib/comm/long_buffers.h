// SPDX-License-Identifier: BSD-3-Clause
// What this rank reads and writes of its own in a call.
#pragma once

#include <span>

#include "comm/comm.h"
#include "mem/huge_pages.h"

namespace coll::comm {

// Where the rank finds what it gets: nothing of the receive buffer where it gets nothing.
std::span<const char> result_of(const Call& call, int rank, int ranks);

// As use_long_buffers(), of a call that may have long buffers.
void count_long_buffers(const Call& call, int rank, int ranks);

// Counts the use of long buffers of the call; those used often get huge pages, see mem/huge_pages.h. Thread safe.
inline void use_long_buffers(const Call& call, int rank, int ranks) {
  if (call.pieces != nullptr || call.bytes() * size_t(ranks) >= mem::HugePages::least_bytes) [[unlikely]]
    count_long_buffers(call, rank, ranks);
}

}  // namespace coll::comm
