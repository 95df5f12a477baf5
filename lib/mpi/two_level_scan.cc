// SPDX-License-Identifier: BSD-3-Clause
//
// Every node scans its own ranks and reduces them to its leader. The exclusive scan of the leaders is the contribution
// of all lower nodes, which is combined with the node's scan as its left operand. Pipelined in pieces like reductions.
#include "mpi/pieces.h"
#include "mpi/two_level.h"

#include <cstring>

namespace coll::shim::two_level {
namespace {

constexpr std::size_t piece_bytes = std::size_t{256} << 10;

enum class Own : bool { left_out, included };

void scan(Nodes &nodes, const void *send, void *recv, std::size_t count, const Reduction &reduction, Own own) {
  const std::size_t width = reduction.element_bytes;
  const std::size_t most = std::max<std::size_t>(piece_bytes / width, 1);
  const bool leads = nodes.local() == 0;
  // The node's sum, followed by the sum of the lower nodes.
  const auto sum_of = [&](const Piece &piece) {
    return nodes.room(piece.slot() == 0 ? Nodes::first : Nodes::second, 2 * most * width);
  };
  Crossing crossing;
  overlap(
      count, most,
      [&](const Piece &piece) {
        const char *from = static_cast<const char *>(send) + piece.first * width;
        // Rank 0 of an exscan may have no receive buffer.
        char *to = recv != nullptr ? static_cast<char *>(recv) + piece.first * width : nullptr;
        char *sum = sum_of(piece);
        char *lower = sum + most * width;
        nodes.inside().reduce(from, sum, piece.count, reduction, 0);
        const int elements = static_cast<int>(piece.count);
        if (leads && reduction.commutes)
          check_mpi(mpi.Iexscan(sum, lower, elements, reduction.datatype, reduction.operation, nodes.rail(),
                                crossing.start(piece)));
        else if (leads)
          check_mpi(mpi.Exscan(sum, lower, elements, reduction.datatype, reduction.operation, nodes.rail()));
        const void *input = send == recv ? COLL_IN_PLACE : from;
        if (own == Own::included) nodes.inside().scan(input, to, piece.count, reduction);
        else nodes.inside().exscan(input, to, piece.count, reduction);
      },
      [&](const Piece &piece) {
        crossing.wait(piece);
        if (nodes.node() == 0) return;
        char *to = static_cast<char *>(recv) + piece.first * width;
        char *lower = sum_of(piece) + most * width;
        nodes.inside().bcast(lower, piece.count * width, 0);
        if (own == Own::left_out && leads) std::memcpy(to, lower, piece.count * width);
        else
          check_mpi(
              mpi.Reduce_local(lower, to, static_cast<int>(piece.count), reduction.datatype, reduction.operation));
      });
}

}  // namespace

bool scans(const Nodes &nodes) { return nodes.contiguous(); }

void scan(Nodes &nodes, const void *send, void *recv, std::size_t count, const Reduction &reduction) {
  scan(nodes, send, recv, count, reduction, Own::included);
}

void exscan(Nodes &nodes, const void *send, void *recv, std::size_t count, const Reduction &reduction) {
  scan(nodes, send, recv, count, reduction, Own::left_out);
}

}  // namespace coll::shim::two_level
