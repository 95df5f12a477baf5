// SPDX-License-Identifier: BSD-3-Clause
//
// A broadcast reaches the leaders first and then the ranks of each node; if the root is not a leader, the order is
// reversed on the root's node. Long broadcasts are pipelined in chunks: the leaders exchange one chunk while the nodes
// broadcast the previous one.
#include "mpi/chunks.h"
#include "mpi/two_level.h"

namespace coll::shim::two_level {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{256} << 10;

}  // namespace

void barrier(Nodes &nodes) {
  nodes.intra_node().barrier();
  if (nodes.local() == 0) check_mpi(mpi.Barrier(nodes.rail()));
  nodes.intra_node().barrier();
}

void bcast(Nodes &nodes, void *buffer, std::size_t bytes, int root) {
  const int leader = nodes.leaders_for(root);
  const int root_node = nodes.node_of(root);
  const bool leads = nodes.local() == leader;
  const bool at_root = nodes.node() == root_node;
  const bool spread_first = at_root && nodes.local_of(root) != leader;
  const bool whole = bytes <= chunk_bytes;
  Transfers transfers;
  overlap(
      bytes, chunk_bytes,
      [&](const Chunk &chunk) {
        char *part = static_cast<char *>(buffer) + chunk.first;
        const int count = static_cast<int>(chunk.count);
        if (spread_first) nodes.intra_node().bcast(part, chunk.count, nodes.local_of(root));
        if (leads && whole) check_mpi(mpi.Bcast(part, count, mpi.byte, root_node, nodes.rail()));
        else if (leads) check_mpi(mpi.Ibcast(part, count, mpi.byte, root_node, nodes.rail(), transfers.start(chunk)));
      },
      [&](const Chunk &chunk) {
        char *part = static_cast<char *>(buffer) + chunk.first;
        if (!at_root) transfers.wait(chunk);
        if (!spread_first) nodes.intra_node().bcast(part, chunk.count, leader);
        if (at_root) transfers.wait(chunk);
      });
}

}  // namespace coll::shim::two_level
