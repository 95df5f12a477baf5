// SPDX-License-Identifier: BSD-3-Clause
// Latency paths of more than 16 ranks for reductions.
//
// Ranks that each have a core: groups of 16 consecutive ranks, which are nodes of the balanced order (Plan::balanced).
// A member reduces the inputs of its group and shows the partial result, and ranks reduce the partial results of all
// groups; in an allreduce the leader of a group does so for its members. So a rank looks at one flag per member of its
// group and one per group instead of one per rank. Plan twin of each: grouped. In the plan, members write to the rank
// that reduces, because a plan pays for each access to another rank's memory; here short data is next to the flag. For
// the same reason leaders compute their members' scans in the plan, whereas here each member reads the inputs before
// its own itself.
//
// Oversubscribed ranks: each is a group of its own, as every hop costs a time slice. Plan twins: reduce flat, allreduce
// all_read, reduce_scatter fused, scan and exscan all_read.
//
// Invariants: see Channel, 3, 4 and 6. A rank writes only its own notes and its own slot.
#pragma once

#include <cstddef>

#include "exec/latency_blocks.h"
#include "exec/reducer.h"

namespace coll::exec {

inline constexpr int most_reduced_ranks = 256;

// Groups of `size` consecutive ranks; the last one may have fewer. REQUIRES: `size` is a power of two.
Groups aligned_groups(int ranks, int size);

// REQUIRES for all: at most most_reduced_ranks ranks; aligned groups, the same on all ranks; the data that a rank
// shows, its own and its group's, fit Channel::room(). `count` of a reduce_scatter is of one block. send and recv may
// be the same. Errors: PEER_DIED. TRUNCATE or COUNT if a peer's operand is longer or shorter than this rank's; the
// contents of recv are then undefined. The channel stays usable if all shown data fitted notes, see Channel.
coll_status grouped_reduce(Channel& channel, const Groups& groups, const void* send, void* recv, size_t count,
                           const Reducer& reducer, int root);
coll_status grouped_allreduce(Channel& channel, const Groups& groups, const void* send, void* recv, size_t count,
                              const Reducer& reducer);
coll_status grouped_reduce_scatter(Channel& channel, const Groups& groups, const void* send, void* recv, size_t count,
                                   const Reducer& reducer);
// Combines the operands of ranks 0 to this one; without `with_own` to the one before, and rank 0 then has no result.
coll_status grouped_scan(Channel& channel, const Groups& groups, const void* send, void* recv, size_t count,
                         const Reducer& reducer, bool with_own);

}  // namespace coll::exec
