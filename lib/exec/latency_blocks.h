// SPDX-License-Identifier: BSD-3-Clause
// Latency paths of more than 16 ranks for short blocks: gather, scatter, allgather, alltoall.
//
// Ranks that each have a core: members of a small group bring their blocks together, and a rank fetches all blocks of another
// group from one place. So it looks at one flag per member of its group and one per group instead of one per rank. Plan twin
// of each: grouped.
//
// Oversubscribed ranks: each is a group of its own, as every hop costs a time slice. Plan twins: gather sequential_read,
// scatter parallel_read, allgather shm_pipelined, alltoall rotated.
//
// Invariants: see Channel, 3, 4 and 6. A rank writes its own notes only, and its own slot only, except in
// blocks_alltoall_to_readers().
#pragma once

#include <cstddef>
#include <vector>

#include "exec/channel.h"

namespace coll::exec {

// Every rank has the same groups: disjoint lists of ascending ranks, of which the first leads.
struct Groups {
  std::vector<std::vector<int>> members;
  std::vector<int> group_of, index_of;  // by rank
  size_t largest = 0;                   // members

  Groups() = default;
  explicit Groups(std::vector<std::vector<int>> groups);
};

// What a rank forwards in an alltoall, and where it finds what is for it. A member forwards what its group has for the ranks
// whose index in their group is its own, modulo the number of members.
struct Forwarding {
  std::vector<int> row;         // by place in a row of this rank's group: the rank that the block is for
  size_t first = 0, count = 0;  // the places of those to whom this rank forwards
  struct From {
    int rank;
    size_t place;  // of this rank among those to whom that one forwards
  };
  std::vector<From> from;     // by group
  size_t most_forwarded = 0;  // blocks, of any rank

  Forwarding() = default;
  Forwarding(const Groups& groups, int rank);
};

// REQUIRES for all: what a rank shows of its own and its group's blocks fits Channel::room(). A rank's own block may be in
// place already. Errors: PEER_DIED. TRUNCATE or COUNT where a peer's block is seen to be longer or shorter, which is then not
// stored; the channel can go on if all that was shown fitted notes, see Channel.
coll_status blocks_gather(Channel& channel, const Groups& groups, const void* send, void* recv, size_t bytes, int root);
coll_status blocks_allgather(Channel& channel, const Groups& groups, const void* send, void* recv, size_t bytes);
coll_status blocks_alltoall(Channel& channel, const Groups& groups, const Forwarding& forwarding, const void* send,
                            void* recv, size_t bytes);
// Each rank stores its blocks in the slots of those that they are for. Then a rank reads from pages of its own instead of a
// little of a page of every peer. The kernel maps 16 pages around each page that is read and one that is written: with 128
// ranks and blocks of 1 KiB a first call maps 160 pages instead of 2100. REQUIRES: the blocks of a rank fill
// least_row_to_readers, and at most most_row_to_readers.
coll_status blocks_alltoall_to_readers(Channel& channel, const void* send, void* recv, size_t bytes);
// Several ranks' rows of less are mapped around one page that is read.
inline constexpr size_t least_row_to_readers = size_t(16) << 10, most_row_to_readers = size_t(256) << 10;
// `parent`: the rank that tells this one that the root's blocks are there; `passes_on`: some rank has this one as its parent.
coll_status blocks_scatter(Channel& channel, const void* send, void* recv, size_t bytes, int root, int parent,
                           bool passes_on);

}  // namespace coll::exec
