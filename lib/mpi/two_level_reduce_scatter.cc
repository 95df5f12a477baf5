// SPDX-License-Identifier: BSD-3-Clause
//
// Short vectors are reduced by one leader per node, which gets its node's blocks from the other leaders and scatters
// them. For long vectors, every rank reduces the blocks of its own rail: one for each node in turn, which crosses
// between nodes while the node reduces the blocks for the next one.
#include "mpi/chunks.h"
#include "mpi/two_level.h"

#include <cstring>

namespace coll::shim::two_level {
namespace {

constexpr std::size_t by_one_most_bytes = std::size_t{32} << 10;

std::size_t total_of(const Nodes &nodes, const Blocks &blocks) {
  const int last = nodes.ranks() - 1;
  return blocks.displ(last) + blocks.count(last);
}

bool is_short(const Nodes &nodes, const Blocks &blocks, const Reduction &reduction) {
  return total_of(nodes, blocks) * reduction.element_bytes <= by_one_most_bytes;
}

void by_one(Nodes &nodes, const void *send, void *recv, const Blocks &blocks, const Reduction &reduction) {
  const std::size_t width = reduction.element_bytes;
  const std::size_t total_bytes = total_of(nodes, blocks) * width;
  const bool leads = nodes.local() == 0;
  char *partial = leads ? nodes.room(Nodes::first, total_bytes) : nullptr;
  char *own = leads ? nodes.room(Nodes::second, total_bytes) : nullptr;
  nodes.intra_node().reduce(send, partial, total_of(nodes, blocks), reduction, 0);
  if (leads) {
    if (!nodes.contiguous()) {
      char *sorted = nodes.room(Nodes::third, total_bytes);
      std::size_t at = 0;
      for (const int rank : nodes.by_node()) {
        const std::size_t bytes = blocks.count(rank) * width;
        std::memcpy(sorted + at, partial + blocks.displ(rank) * width, bytes);
        at += bytes;
      }
      partial = sorted;
    }
    std::vector<int> counts(static_cast<std::size_t>(nodes.nodes()));
    for (int rank = 0; rank < nodes.ranks(); rank++)
      counts[static_cast<std::size_t>(nodes.node_of(rank))] += static_cast<int>(blocks.count(rank));
    check_mpi(mpi.Reduce_scatter(partial, own, counts.data(), reduction.datatype, reduction.operation, nodes.rail()));
  }
  std::size_t *sizes = nodes.numbers(nodes.locals().size());
  for (std::size_t i = 0; i < nodes.locals().size(); i++) sizes[i] = blocks.count(nodes.locals()[i]) * width;
  nodes.intra_node().scatter(own, sizes, nullptr, recv, sizes[nodes.local()], 0);
}

// Requires that the blocks of each node's ranks are adjacent.
void by_rails(Nodes &nodes, const void *send, void *recv, const Blocks &blocks, const Reduction &reduction) {
  const std::size_t width = reduction.element_bytes;
  const std::size_t locals = nodes.locals().size();
  std::size_t most = 0;
  for (int node = 0; node < nodes.nodes(); node++)
    most = std::max(most, blocks.count(nodes.ranks_of(node)[static_cast<std::size_t>(nodes.local())]));
  // In place, the result is stored only after all inputs have been read.
  const std::size_t own_bytes = blocks.count(nodes.rank()) * width;
  char *result = send == recv ? nodes.room(Nodes::third, own_bytes) : static_cast<char *>(recv);
  const auto part = [&](const Chunk &chunk) {
    return nodes.room(chunk.slot() == 0 ? Nodes::first : Nodes::second, most * width);
  };
  Transfers transfers;
  overlap(
      static_cast<std::size_t>(nodes.nodes()), 1,
      [&](const Chunk &chunk) {
        const int node = static_cast<int>(chunk.first);
        const std::span<const int> ranks = nodes.ranks_of(node);
        std::size_t *counts = nodes.numbers(locals);
        for (std::size_t i = 0; i < locals; i++) counts[i] = blocks.count(ranks[i]);
        char *mine = part(chunk);
        nodes.intra_node().reduce_scatter(static_cast<const char *>(send) + blocks.displ(ranks[0]) * width, mine,
                                          counts, reduction);
        if (const std::size_t count = counts[nodes.local()]; count > 0)
          check_mpi(mpi.Ireduce(mine, result, static_cast<int>(count), reduction.datatype, reduction.operation, node,
                                nodes.rail(), transfers.start(chunk)));
      },
      [&](const Chunk &chunk) { transfers.wait(chunk); });
  if (result != recv && own_bytes > 0) std::memcpy(recv, result, own_bytes);
}

}  // namespace

bool can_reduce_scatter(const Nodes &nodes, const Blocks &blocks, const Reduction &reduction) {
  if (!reduction.commutes && !nodes.contiguous()) return false;
  return is_short(nodes, blocks, reduction) || (reduction.commutes && nodes.regular() && nodes.contiguous());
}

void reduce_scatter(Nodes &nodes, const void *send, void *recv, const Blocks &blocks, const Reduction &reduction) {
  if (total_of(nodes, blocks) == 0) return;  // the buffers may be NULL
  if (is_short(nodes, blocks, reduction)) by_one(nodes, send, recv, blocks, reduction);
  else by_rails(nodes, send, recv, blocks, reduction);
}

}  // namespace coll::shim::two_level
