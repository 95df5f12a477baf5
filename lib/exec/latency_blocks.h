// SPDX-License-Identifier: BSD-3-Clause
// Latency paths of more than 16 ranks for short blocks: gather, scatter, allgather, alltoall.
//
// Ranks that each have a core: the members of a small group collect their blocks at one rank, and a rank reads all
// blocks of another group from one place. So it looks at one flag per member of its group and one per group instead of
// one per rank. Plan twin of each: grouped.
//
// Oversubscribed ranks: each is a group of its own, as every hop costs a time slice. Plan twins: gather
// sequential_read, scatter parallel_read, allgather shm_pipelined, alltoall rotated.
//
// Invariants: see Channel, 3, 4 and 6. A rank writes only its own notes and its own slot, except in
// blocks_alltoall_to_readers().
#pragma once

#include <cstddef>
#include <vector>

#include "exec/channel.h"

namespace coll::exec {

// Disjoint lists of ascending ranks, the same on every rank; the first rank of a group is its leader.
struct Groups {
  std::vector<std::vector<int>> members;
  std::vector<int> group_of, index_of;  // by rank
  size_t largest = 0;                   // number of members

  Groups() = default;
  explicit Groups(std::vector<std::vector<int>> groups);
};

// What a rank forwards in an alltoall, and where it finds its blocks. A member forwards the blocks of its group for the
// ranks whose index in their group is its own, modulo the number of members.
struct Forwarding {
  std::vector<int> row;         // by place in a row of this rank's group: the rank that the block is for
  size_t first = 0, count = 0;  // the places of the ranks to which this rank forwards
  struct From {
    int rank;
    size_t place;  // of this rank among those to which `rank` forwards
  };
  std::vector<From> from;     // by group
  size_t most_forwarded = 0;  // the most blocks that any rank forwards

  Forwarding() = default;
  Forwarding(const Groups& groups, int rank);
};

// REQUIRES for all: the blocks that a rank shows, its own and its group's, fit Channel::room(). A rank's own block may
// already be in place. Errors: PEER_DIED. TRUNCATE or COUNT if a peer's block is longer or shorter than this rank's;
// that block is not stored. The channel stays usable if all shown data fitted notes, see Channel.
coll_status blocks_gather(Channel& channel, const Groups& groups, const void* send, void* recv, size_t bytes, int root);
coll_status blocks_allgather(Channel& channel, const Groups& groups, const void* send, void* recv, size_t bytes);
coll_status blocks_alltoall(Channel& channel, const Groups& groups, const Forwarding& forwarding, const void* send,
                            void* recv, size_t bytes);
// Each rank stores its blocks in the slots of the ranks that they are for. A rank then reads from its own pages instead
// of a small part of a page of every peer. The kernel maps 16 pages around a page that is read, but one page for a page
// that is written: with 128 ranks and blocks of 1 KiB a first call maps 160 pages instead of 2100. REQUIRES: the blocks
// of a rank take least_row_to_readers to most_row_to_readers bytes.
coll_status blocks_alltoall_to_readers(Channel& channel, const void* send, void* recv, size_t bytes);
// If rows were shorter, the kernel would map several ranks' rows around one page that is read.
inline constexpr size_t least_row_to_readers = size_t(16) << 10, most_row_to_readers = size_t(256) << 10;
// `parent`: the rank whose flag shows this rank that the root's blocks are there; `forwards`: this rank is the parent
// of another one.
coll_status blocks_scatter(Channel& channel, const void* send, void* recv, size_t bytes, int root, int parent,
                           bool forwards);

}  // namespace coll::exec
