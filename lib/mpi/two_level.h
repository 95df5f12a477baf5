// SPDX-License-Identifier: BSD-3-Clause
// Collectives on a communicator over several nodes: libcoll inside each node, the MPI library between leaders.
//
// Each collective has a function that returns whether it can run in two levels, which depends only on arguments that
// are equal on all ranks, and a function that performs it, which throws Failure and std::bad_alloc. README.md gives the
// reasons. Buffers are bytes in sending order, or elements of the reduction's datatype. In place means that `send` is
// `recv`.
#pragma once

#include "mpi/nodes.h"
#include "mpi/operations.h"

#include <cstddef>

namespace coll::shim::two_level {

// The blocks of a buffer by rank: adjacent blocks of `each` bytes, or irregular ones with counts and displacements, in
// bytes (in elements for reductions).
struct Blocks {
  std::size_t each;
  const std::size_t *counts = nullptr;
  const std::size_t *displs = nullptr;

  std::size_t count(int rank) const { return counts != nullptr ? counts[rank] : each; }
  std::size_t displ(int rank) const { return counts != nullptr ? displs[rank] : each * static_cast<std::size_t>(rank); }
};

void barrier(Nodes &nodes);

void bcast(Nodes &nodes, void *buffer, std::size_t bytes, int root);

// For reduce and allreduce.
bool can_reduce(const Nodes &nodes, const Reduction &reduction);
void reduce(Nodes &nodes, const void *send, void *recv, std::size_t count, const Reduction &reduction, int root);
void allreduce(Nodes &nodes, const void *send, void *recv, std::size_t count, const Reduction &reduction);

// For reduce_scatter; `blocks` are adjacent.
bool can_reduce_scatter(const Nodes &nodes, const Blocks &blocks, const Reduction &reduction);
void reduce_scatter(Nodes &nodes, const void *send, void *recv, const Blocks &blocks, const Reduction &reduction);

// For scan and exscan.
bool can_scan(const Nodes &nodes);
void scan(Nodes &nodes, const void *send, void *recv, std::size_t count, const Reduction &reduction);
void exscan(Nodes &nodes, const void *send, void *recv, std::size_t count, const Reduction &reduction);

// `blocks` are significant at the root only, unless all have the same size `each`; `irregular`, equal on all ranks,
// says which of the two it is. The root's own block may be COLL_IN_PLACE.
void gather(Nodes &nodes, const void *send, std::size_t bytes, void *recv, const Blocks &blocks, bool irregular,
            int root);
void scatter(Nodes &nodes, const void *send, const Blocks &blocks, void *recv, std::size_t bytes, bool irregular,
             int root);

bool can_allgather(const Nodes &nodes, const Blocks &blocks);
void allgather(Nodes &nodes, const void *send, void *recv, const Blocks &blocks);

// All blocks have `bytes` bytes; `send` may be `recv`.
bool can_alltoall(const Nodes &nodes, std::size_t bytes);
void alltoall(Nodes &nodes, const void *send, void *recv, std::size_t bytes);

}  // namespace coll::shim::two_level
