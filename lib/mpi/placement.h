// SPDX-License-Identifier: BSD-3-Clause
// Which processes share a node.
#pragma once

#include "mpi/handles.h"

#include <cstdint>

namespace coll::shim {

// A node's name: a random number that its processes share.
using NodeName = std::uint64_t;
constexpr NodeName no_name = 0;
constexpr NodeName nowhere = ~no_name;

// Differs between machines and between boots; the same in all containers of a machine. Empty when it cannot be read.
struct KernelName {
  char text[64];
  bool known() const { return text[0] != '\0'; }
  bool operator==(const KernelName &) const = default;
};
const KernelName &running_kernel();

// The name of this process's node, once place_processes() or a find_node() with `keep` has found it; `no_name` before;
// `nowhere`, and a line in the log, where COLL_NODE_SIZE is no number. Thread safe.
NodeName known_node();

// The name of the node, as far as the ranks of `comm` reach; collective, and none of them may be `nowhere`. Where ranks
// sit is what MPI_Comm_split_type says (where it reports every process alone, those that run under one kernel in one pid
// namespace), and COLL_NODE_SIZE=k cuts each node into nodes of k processes, in the order of
// MPI_COMM_WORLD: the same ones in every communicator, so that one whose ranks are in another order sees scattered nodes.
// `no_name` when that fails.
NodeName find_node(MPI_Comm comm, bool keep);

// Finds and keeps the name for every process of MPI_COMM_WORLD; collective, in MPI_Init.
void place_processes();

// Whether all processes keep statistics; found by place_processes().
bool all_ranks_count();

// All processes of MPI_COMM_WORLD once more, for messages of the shim; MPI_COMM_NULL without place_processes().
MPI_Comm private_world();
void forget_private_world();

}  // namespace coll::shim
