// SPDX-License-Identifier: BSD-3-Clause
// Latency paths for more ranks than can all look at each other's flags at once.
//
// Ranks that each have a core: flags and payload travel along a tree of small groups, so that a rank looks at one flag
// per member of the groups that it leads, and at one of its parent. Plan twins: barrier grouped, bcast grouped.
//
// Oversubscribed ranks: each level of a tree would cost every rank a time slice, since a leader runs after the ranks
// that it waits for, and they run after it again. So every rank checks its peers itself, and the first rank that has
// seen all of them shows this to the ranks that run after it: most ranks look at a single flag. Plan twin: barrier
// flat.
//
// Invariants: see Channel, 4 and 5.
#include <cstddef>
#include <vector>

#include "exec/channel.h"

namespace coll::exec {

// A rank's neighbours in a tree: its parent, -1 for the root, and its children.
struct TreeNeighbors {
  int parent = -1;
  std::vector<int> children;
};

// REQUIRES for all: all ranks use the same tree. Errors: PEER_DIED.
coll_status tree_barrier(Channel& channel, const TreeNeighbors& tree);
// REQUIRES: bytes <= Mailbox::payload_bytes. `forwards`: this rank is the parent of another one. Errors as
// latency_bcast().
coll_status tree_bcast(Channel& channel, void* buffer, size_t bytes, int parent, bool forwards);

coll_status oversubscribed_barrier(Channel& channel);

}  // namespace coll::exec
