// SPDX-License-Identifier: BSD-3-Clause
// Latency paths of more than 16 ranks for reductions.
//
// Ranks that each have a core: groups of 16 consecutive ranks, which are nodes of the balanced order (Plan::balanced). A
// member reduces the inputs of its group and shows the partial result, and ranks reduce the partial results of all groups;
// of an allreduce the leader of a group does so for its members. So a rank looks at one flag per member of its group and one
// per group instead of one per rank. Plan twin of each: grouped. There, members write to the rank that reduces: a plan pays
// for each access to another rank's memory, where this path finds short data beside the flag. For the same reason leaders
// make the scans of their members there, who read the inputs before theirs themselves here.
//
// Oversubscribed ranks: each is a group of its own, as every hop costs a time slice. Plan twins: reduce flat, allreduce
// all_read, reduce_scatter fused, scan and exscan all_read.
//
// Invariants: see Channel, 3, 4 and 6. A rank writes its own notes and its own slot only.
#pragma once

#include <cstddef>

#include "exec/latency_blocks.h"
#include "exec/reducer.h"

namespace coll::exec {

inline constexpr int most_reduced_ranks = 256;

// Of `size` consecutive ranks each, the last one perhaps of fewer. REQUIRES: `size` is a power of two.
Groups aligned_groups(int ranks, int size);

// REQUIRES for all: at most most_reduced_ranks ranks; aligned groups, the same on all ranks; what a rank shows of its own
// and of its group fits Channel::room(). `count` of a reduce_scatter is of one block. send and recv may be the same. Errors:
// PEER_DIED. TRUNCATE or COUNT where a peer's operand is seen to be longer or shorter; the contents of recv are undefined
// then. The channel can go on if all that was shown fitted notes, see Channel.
coll_status grouped_reduce(Channel& channel, const Groups& groups, const void* send, void* recv, size_t count,
                           const Reducer& reducer, int root);
coll_status grouped_allreduce(Channel& channel, const Groups& groups, const void* send, void* recv, size_t count,
                              const Reducer& reducer);
coll_status grouped_reduce_scatter(Channel& channel, const Groups& groups, const void* send, void* recv, size_t count,
                                   const Reducer& reducer);
// The operands of ranks 0 .. own rank, or without the own one; rank 0 has no result then.
coll_status grouped_scan(Channel& channel, const Groups& groups, const void* send, void* recv, size_t count,
                         const Reducer& reducer, bool with_own);

}  // namespace coll::exec
