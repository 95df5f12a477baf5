// SPDX-License-Identifier: BSD-3-Clause
// Which processes are on one node.
#pragma once

#include "mpi/handles.h"

#include <cstdint>

namespace coll::shim {

// The name of a node: a random number that its processes share.
using NodeName = std::uint64_t;
constexpr NodeName unknown_node = 0;
constexpr NodeName invalid_node = ~unknown_node;

// Identifies the running kernel: differs between machines and between boots, and is the same in all containers of a
// machine. Empty if it cannot be read.
struct KernelName {
  char text[64];
  bool known() const { return text[0] != '\0'; }
  bool operator==(const KernelName &) const = default;
};
const KernelName &running_kernel();

// Returns the name of this process's node, if place_processes() or a find_node() with `keep` has found it; otherwise
// `unknown_node`. Returns `invalid_node`, with a line in the log, if COLL_NODE_SIZE is not a valid number. Thread safe.
NodeName known_node();

// Returns the name of the node, for the ranks of `comm`; `unknown_node` if that fails. Collective; known_node() must
// not be `invalid_node` on any rank. MPI_Comm_split_type says which ranks share a node; where it reports every process
// alone, those share one that run under one kernel in one pid or network namespace. COLL_NODE_SIZE=k splits each node
// into nodes of k processes, in the order of MPI_COMM_WORLD: the same nodes in every communicator, so if the ranks of a
// communicator are in another order, they are scattered over the nodes.
NodeName find_node(MPI_Comm comm, bool keep);

// Finds and stores the name for every process of MPI_COMM_WORLD; collective, called in MPI_Init. Returns whether all
// processes are known to be on one node, the same on all; false also where that is not known.
bool place_processes();

// Whether all processes keep statistics; set by place_processes().
bool all_ranks_count();

// A communicator of all processes of MPI_COMM_WORLD for messages of the shim; MPI_COMM_NULL without place_processes().
MPI_Comm private_world();
void free_private_world();

}  // namespace coll::shim
