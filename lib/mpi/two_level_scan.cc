// SPDX-License-Identifier: BSD-3-Clause
//
// Every node scans its own ranks and reduces them to its leader. The exclusive scan of the leaders is the contribution
// of all lower nodes, which is combined with the node's scan as its left operand. Pipelined in chunks like reductions.
#include "mpi/chunks.h"
#include "mpi/two_level.h"

#include <cstring>

namespace coll::shim::two_level {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{256} << 10;

enum class Own : bool { left_out, included };

void scan(Nodes &nodes, const void *send, void *recv, std::size_t count, const Reduction &reduction, Own own) {
  const std::size_t width = reduction.element_bytes;
  const std::size_t most = std::max<std::size_t>(chunk_bytes / width, 1);
  const bool leads = nodes.local() == 0;
  // The node's sum, followed by the sum of the lower nodes.
  const auto sum_of = [&](const Chunk &chunk) {
    return nodes.room(chunk.slot() == 0 ? Nodes::first : Nodes::second, 2 * most * width);
  };
  Transfers transfers;
  overlap(
      count, most,
      [&](const Chunk &chunk) {
        const char *from = static_cast<const char *>(send) + chunk.first * width;
        // Rank 0 of an exscan may have no receive buffer.
        char *to = recv != nullptr ? static_cast<char *>(recv) + chunk.first * width : nullptr;
        char *sum = sum_of(chunk);
        char *lower = sum + most * width;
        nodes.intra_node().reduce(from, sum, chunk.count, reduction, 0);
        const int elements = static_cast<int>(chunk.count);
        if (leads && reduction.commutes)
          check_mpi(mpi.Iexscan(sum, lower, elements, reduction.datatype, reduction.operation, nodes.rail(),
                                transfers.start(chunk)));
        else if (leads)
          check_mpi(mpi.Exscan(sum, lower, elements, reduction.datatype, reduction.operation, nodes.rail()));
        const void *input = send == recv ? COLL_IN_PLACE : from;
        if (own == Own::included) nodes.intra_node().scan(input, to, chunk.count, reduction);
        else nodes.intra_node().exscan(input, to, chunk.count, reduction);
      },
      [&](const Chunk &chunk) {
        transfers.wait(chunk);
        if (nodes.node() == 0) return;
        char *to = static_cast<char *>(recv) + chunk.first * width;
        char *lower = sum_of(chunk) + most * width;
        nodes.intra_node().bcast(lower, chunk.count * width, 0);
        if (own == Own::left_out && leads) std::memcpy(to, lower, chunk.count * width);
        else
          check_mpi(
              mpi.Reduce_local(lower, to, static_cast<int>(chunk.count), reduction.datatype, reduction.operation));
      });
}

}  // namespace

bool can_scan(const Nodes &nodes) { return nodes.contiguous(); }

void scan(Nodes &nodes, const void *send, void *recv, std::size_t count, const Reduction &reduction) {
  scan(nodes, send, recv, count, reduction, Own::included);
}

void exscan(Nodes &nodes, const void *send, void *recv, std::size_t count, const Reduction &reduction) {
  scan(nodes, send, recv, count, reduction, Own::left_out);
}

}  // namespace coll::shim::two_level
