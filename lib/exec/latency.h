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

// REQUIRES for all: what one rank shows to the others <= Mailbox::payload_bytes, at most 64 ranks for reductions and any number
// for the others. Where buffers have blocks, `bytes` and `count` are of one block; a rank's own block may be in place
// already.
// Errors: PEER_DIED. TRUNCATE when a rank shows more than this one takes, which is then done with the first of it; a
// broadcast also COUNT when the root shows less, which is all that is stored. Both are noticed where data arrive, and
// the channel can go on.
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
// The operands of ranks 0 .. own rank, or without the own one; rank 0 has no result then.
coll_status latency_scan(Channel& channel, const void* send, void* recv, size_t count, const Reducer& reducer,
                         bool with_own);

// Every rank tells what it is about to call; MISMATCH when they differ, and *differs is a rank that does.
coll_status latency_agree(Channel& channel, uint64_t signature, int* differs);

}  // namespace coll::exec
