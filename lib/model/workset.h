// SPDX-License-Identifier: BSD-3-Clause
// The work set W of a collective (YHCCL 4.2): the bytes of all ranks' send and receive buffers and of their shared
// slices. A copy whose stored data is not read again soon uses non-temporal stores if W exceeds the caches C: c' + p
// c'', or c' if the last level is inclusive (model::available_cache_bytes). (YHCCL's Algorithm 1 swaps the two
// branches; its text and its measurements agree with this rule.)
#pragma once

#include <cstdint>
#include <string_view>

#include "plan/plan.h"

namespace coll::model {

// The buffers of all p ranks. `bytes` is the size of the vector, or of one block.
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

// The slices in shared memory that the papers add, `slice` bytes each; m sockets. YHCCL Alg. 3: 2I, Alg. 4: 2pI, Alg.
// 2: pI, socket-aware mpI. Other algorithms copy from buffer to buffer.
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

// Whether copies of data that is not read again soon use non-temporal stores. 0 bytes of cache: unknown, so they do
// not.
constexpr bool streams(uint64_t work_set_bytes, uint64_t cache_bytes) {
  return cache_bytes != 0 && work_set_bytes > cache_bytes;
}

}  // namespace coll::model
