// SPDX-License-Identifier: BSD-3-Clause
// The send and receive buffers of this rank in a call.
#pragma once

#include <span>

#include "comm/comm.h"
#include "mem/huge_pages.h"

namespace coll::comm {

// The part of the receive buffer that holds this rank's result; empty if the rank receives no result.
std::span<const char> result_of(const Call& call, int rank, int ranks);

// The out-of-line part of use_long_buffers(), for calls that may have long buffers.
void count_long_buffers(const Call& call, int rank, int ranks);

// Counts a use of the call's long buffers; buffers that are used often get huge pages, see mem/huge_pages.h.
// Thread-safe.
inline void use_long_buffers(const Call& call, int rank, int ranks) {
  if (call.pieces != nullptr || call.bytes() * size_t(ranks) >= mem::HugePages::least_bytes) [[unlikely]]
    count_long_buffers(call, rank, ranks);
}

}  // namespace coll::comm
