// SPDX-License-Identifier: BSD-3-Clause
// The work set W of a collective (YHCCL 4.2): the bytes of all ranks' send and receive buffers and of what they share
// besides. A copy whose stored data is not read again soon bypasses the cache when W exceeds what the caches hold, C:
// c' + p c'', or c' where the last level is inclusive (topo::available_cache_bytes). (YHCCL's Algorithm 1 has the two
// branches the wrong way round; its text and its measurements say this.)
#pragma once

#include <cstdint>
#include <string_view>

#include "plan/plan.h"

namespace coll::model {

// All ranks' buffers. `bytes` is of the vector, or of each rank's piece; p ranks.
constexpr uint64_t buffer_bytes(plan::Collective collective, uint64_t bytes, uint64_t p) {
  using plan::Collective;
  switch (collective) {
    case Collective::barrier: return 0;
    case Collective::bcast: return bytes * p;
    case Collective::reduce: return bytes * (p + 1);
    case Collective::allreduce:
    case Collective::scatter:
    case Collective::gather:
    case Collective::scan:
    case Collective::exscan: return 2 * bytes * p;
    case Collective::allgather:
    case Collective::reduce_scatter: return bytes * p + bytes * p * p;
    case Collective::alltoall: return 2 * bytes * p * p;
  }
  return 0;
}

// What the texts add for the slices that pass through shared memory, `slice` bytes each; m sockets. YHCCL Alg. 3: 2I,
// Alg. 4: 2pI, Alg. 2: pI, socket-aware mpI. Others go from buffer to buffer.
constexpr uint64_t shared_bytes(plan::Collective collective, std::string_view algorithm, uint64_t slice, uint64_t p,
                                uint64_t m = 1) {
  if (algorithm == "shm_pipelined") return 2 * slice * (collective == plan::Collective::allgather ? p : 1);
  if (algorithm == "movement_avoiding") return p * slice;
  if (algorithm == "movement_avoiding_socket") return m * p * slice;
  return 0;
}

constexpr uint64_t work_set(plan::Collective collective, std::string_view algorithm, uint64_t bytes, uint64_t slice,
                            uint64_t p, uint64_t m = 1) {
  return buffer_bytes(collective, bytes, p) + shared_bytes(collective, algorithm, slice, p, m);
}

// Whether copies of what is not read again soon bypass the cache. 0 bytes of cache: nobody knows.
constexpr bool streams(uint64_t work_set_bytes, uint64_t cache_bytes) {
  return cache_bytes != 0 && work_set_bytes > cache_bytes;
}

}  // namespace coll::model
