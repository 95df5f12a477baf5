// SPDX-License-Identifier: BSD-3-Clause
// The collectives of a communicator over several nodes: libcoll inside each, the MPI library between leaders.
//
// For each a question whether it goes in two levels, which depends only on what is equal at all ranks, and the
// collective itself, which throws Trouble and std::bad_alloc. README.md tells why the answer may be no. Buffers are
// bytes in sending order, or elements of the reduction's datatype; a source in place is the receive buffer itself.
#pragma once

#include "mpi/nodes.h"
#include "mpi/operations.h"

#include <cstddef>

namespace coll::shim::two_level {

// The blocks of a buffer by rank: all of `each` bytes and adjacent, or of irregular sizes at displacements, in bytes (in
// elements for reductions).
struct Blocks {
  std::size_t each;
  const std::size_t *counts = nullptr;
  const std::size_t *displs = nullptr;

  std::size_t count(int rank) const { return counts != nullptr ? counts[rank] : each; }
  std::size_t displ(int rank) const { return counts != nullptr ? displs[rank] : each * static_cast<std::size_t>(rank); }
};

void barrier(Nodes &nodes);

void bcast(Nodes &nodes, void *buffer, std::size_t bytes, int root);

// Of reduce and allreduce.
bool reduces(const Nodes &nodes, const Reduction &reduction);
void reduce(Nodes &nodes, const void *send, void *recv, std::size_t count, const Reduction &reduction, int root);
void allreduce(Nodes &nodes, const void *send, void *recv, std::size_t count, const Reduction &reduction);

// Of reduce_scatter; `blocks` are adjacent.
bool reduce_scatters(const Nodes &nodes, const Blocks &blocks, const Reduction &reduction);
void reduce_scatter(Nodes &nodes, const void *send, void *recv, const Blocks &blocks, const Reduction &reduction);

// Of scan and exscan.
bool scans(const Nodes &nodes);
void scan(Nodes &nodes, const void *send, void *recv, std::size_t count, const Reduction &reduction);
void exscan(Nodes &nodes, const void *send, void *recv, std::size_t count, const Reduction &reduction);

// `blocks` matter at the root only, unless all are of one size, which is then `each`; `irregular` says which of the two
// it is at all ranks. The root's own block may be COLL_IN_PLACE.
void gather(Nodes &nodes, const void *send, std::size_t bytes, void *recv, const Blocks &blocks, bool irregular,
            int root);
void scatter(Nodes &nodes, const void *send, const Blocks &blocks, void *recv, std::size_t bytes, bool irregular,
             int root);

bool allgathers(const Nodes &nodes, const Blocks &blocks);
void allgather(Nodes &nodes, const void *send, void *recv, const Blocks &blocks);

// Blocks of one size; `send` may be `recv`.
bool alltoalls(const Nodes &nodes, std::size_t bytes);
void alltoall(Nodes &nodes, const void *send, void *recv, std::size_t bytes);

}  // namespace coll::shim::two_level
