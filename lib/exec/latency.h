// SPDX-License-Identifier: BSD-3-Clause
// The hand-written latency paths: a tiny payload travels in the cache line of the flag that announces it, one hop.
// Each has a plan twin that gives the same result: barrier flat, bcast shm_pipelined, reduce and allreduce all_read,
// scatter parallel_read, gather parallel_write, allgather ring_source_read, alltoall rotated, reduce-scatter fused,
// scan and exscan all_read.
// Operands combine in rank order.
#pragma once

#include <cstddef>

#include "exec/channel.h"
#include "exec/reducer.h"

namespace coll::exec {

// REQUIRES for all: a rank shows at most Mailbox::payload_bytes to its peers; at most 64 ranks for reductions, any
// number for the others. For buffers with blocks, `bytes` and `count` are of one block; a rank's own block may already
// be in place.
// Errors: PEER_DIED. TRUNCATE if a peer shows more than this rank takes; the result then uses the first part of it. A
// broadcast also returns COUNT if the root shows less; then only that is stored. The receiving rank detects both, and
// the channel stays usable.
coll_status latency_barrier(Channel& channel);
coll_status latency_bcast(Channel& channel, void* buffer, size_t bytes, int root);
coll_status latency_reduce(Channel& channel, const void* send, void* recv, size_t count, const Reducer& reducer,
                           int root);
coll_status latency_allreduce(Channel& channel, const void* send, void* recv, size_t count, const Reducer& reducer);
coll_status latency_scatter(Channel& channel, const void* send, void* recv, size_t bytes, int root);
coll_status latency_gather(Channel& channel, const void* send, void* recv, size_t bytes, int root);
coll_status latency_allgather(Channel& channel, const void* send, void* recv, size_t bytes);
coll_status latency_alltoall(Channel& channel, const void* send, void* recv, size_t bytes);
coll_status latency_reduce_scatter(Channel& channel, const void* send, void* recv, size_t count,
                                   const Reducer& reducer);
// Combines the operands of ranks 0 to this one; without `with_own` to the one before, and rank 0 then has no result.
coll_status latency_scan(Channel& channel, const void* send, void* recv, size_t count, const Reducer& reducer,
                         bool with_own);

// Compares the signatures of the calls that the ranks are about to make. Returns MISMATCH if they differ; *differs is
// then a rank whose signature is not this rank's, otherwise -1.
coll_status latency_agree(Channel& channel, uint64_t signature, int* differs);

}  // namespace coll::exec
