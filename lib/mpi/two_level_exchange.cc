// SPDX-License-Identifier: BSD-3-Clause
//
// Allgather and alltoall. In a short allgather, one leader per node sends its node's blocks to all other leaders, and
// broadcasts all blocks in its node. Longer allgathers, and alltoall, need nodes of equal size: each rank exchanges
// blocks on its own rail.
#include "mpi/chunks.h"
#include "mpi/two_level.h"

#include <climits>
#include <cstring>
#include <vector>

namespace coll::shim::two_level {
namespace {

constexpr std::size_t by_one_most_bytes = std::size_t{64} << 10;   // total of all blocks
constexpr std::size_t alltoall_most_bytes = std::size_t{4} << 10;  // size of one block
constexpr int tag = 0;

std::size_t total_of(const Nodes &nodes, const Blocks &blocks) {
  std::size_t total = 0;
  for (int rank = 0; rank < nodes.ranks(); rank++) total += blocks.count(rank);
  return total;
}

std::size_t largest_of(const Nodes &nodes, const Blocks &blocks) {
  std::size_t most = 0;
  for (int rank = 0; rank < nodes.ranks(); rank++) most = std::max(most, blocks.count(rank));
  return most;
}

const char *own_block(const Nodes &nodes, const void *send, const void *recv, const Blocks &blocks) {
  return static_cast<const char *>(send) + (send == recv ? blocks.displ(nodes.rank()) : 0);
}

void allgather_by_one(Nodes &nodes, const void *send, void *recv, const Blocks &blocks) {
  const std::span<const int> locals = nodes.locals();
  const std::size_t total = total_of(nodes, blocks);
  char *all = nodes.room(Nodes::first, total);  // in the order of nodes.by_node()
  std::size_t *sizes = nodes.numbers(locals.size());
  for (std::size_t i = 0; i < locals.size(); i++) sizes[i] = blocks.count(locals[i]);
  const bool leads = nodes.local() == 0;
  char *own = leads ? nodes.room(Nodes::second, total) : nullptr;
  nodes.intra_node().gather(own_block(nodes, send, recv, blocks), blocks.count(nodes.rank()), own, sizes, nullptr, 0);
  if (leads) {
    std::vector<int> counts, displs;
    int end = 0;
    for (int node = 0; node < nodes.nodes(); node++) {
      displs.push_back(end);
      for (const int rank : nodes.ranks_of(node)) end += static_cast<int>(blocks.count(rank));
      counts.push_back(end - displs.back());
    }
    check_mpi(mpi.Allgatherv(own, counts[static_cast<std::size_t>(nodes.node())], mpi.byte, all, counts.data(),
                             displs.data(), mpi.byte, nodes.rail()));
  }
  nodes.intra_node().bcast(all, total, 0);
  for (const int rank : nodes.by_node()) {
    std::memcpy(static_cast<char *>(recv) + blocks.displ(rank), all, blocks.count(rank));
    all += blocks.count(rank);
  }
}

// Ranks of one rail exchange their blocks directly; meanwhile every node gathers the blocks that have arrived, node by
// node, beginning with its own ranks' blocks.
void allgather_by_rails(Nodes &nodes, const void *send, void *recv, const Blocks &blocks) {
  const int last = nodes.nodes() - 1;
  const std::size_t locals = nodes.locals().size();
  const auto local = static_cast<std::size_t>(nodes.local());
  const auto neighbour = [&](int distance) { return (nodes.node() + distance + nodes.nodes()) % nodes.nodes(); };
  const auto on_rail = [&](int node) { return nodes.ranks_of(node)[local]; };
  const char *own = own_block(nodes, send, recv, blocks);
  const auto own_bytes = static_cast<int>(blocks.count(nodes.rank()));

  std::size_t total = 0;
  for (int node = 0; node <= last; node++) total += blocks.count(on_rail(node));
  char *at = nodes.room(Nodes::first, total);
  std::vector<MPI_Request> requests(2 * static_cast<std::size_t>(last));
  std::vector<char *> arrived(static_cast<std::size_t>(last));
  for (int i = 0; i < last; i++) {
    const int from = neighbour(-1 - i);
    const std::size_t bytes = blocks.count(on_rail(from));
    arrived[static_cast<std::size_t>(i)] = at;
    check_mpi(mpi.Irecv(at, static_cast<int>(bytes), mpi.byte, from, tag, nodes.rail(),
                        &requests[static_cast<std::size_t>(i)]));
    at += bytes;
  }
  for (int i = 0; i < last; i++)
    check_mpi(mpi.Isend(own, own_bytes, mpi.byte, neighbour(1 + i), tag, nodes.rail(),
                        &requests[static_cast<std::size_t>(last + i)]));
  std::size_t *sizes = nodes.numbers(2 * locals), *displs = sizes + locals;
  for (int i = -1; i < last; i++) {
    if (i >= 0) check_mpi(mpi.Wait(&requests[static_cast<std::size_t>(i)], MPI_STATUS_IGNORE));
    const std::span<const int> ranks = nodes.ranks_of(neighbour(-1 - i));
    for (std::size_t k = 0; k < locals; k++) sizes[k] = blocks.count(ranks[k]), displs[k] = blocks.displ(ranks[k]);
    const void *block = i >= 0 ? arrived[static_cast<std::size_t>(i)] : send == recv ? COLL_IN_PLACE : send;
    nodes.intra_node().allgather(block, sizes[local], recv, sizes, displs);
  }
  check_mpi(mpi.Waitall(last, requests.data() + last, MPI_STATUSES_IGNORE));
}

}  // namespace

bool can_allgather(const Nodes &nodes, const Blocks &blocks) {
  return total_of(nodes, blocks) <= by_one_most_bytes || (nodes.regular() && largest_of(nodes, blocks) <= INT_MAX);
}

void allgather(Nodes &nodes, const void *send, void *recv, const Blocks &blocks) {
  const std::size_t total = total_of(nodes, blocks);
  if (total == 0) return;  // the buffers may be NULL
  if (total <= by_one_most_bytes) allgather_by_one(nodes, send, recv, blocks);
  else allgather_by_rails(nodes, send, recv, blocks);
}

bool can_alltoall(const Nodes &nodes, std::size_t bytes) { return nodes.regular() && bytes <= alltoall_most_bytes; }

// In the node, every rank gets the blocks for its rail from all ranks of its node; then it sends one message to each
// node.
void alltoall(Nodes &nodes, const void *send, void *recv, std::size_t bytes) {
  if (bytes == 0) return;  // the buffers may be NULL
  const std::size_t locals = nodes.locals().size();
  const auto count = static_cast<std::size_t>(nodes.nodes());
  const std::size_t total = static_cast<std::size_t>(nodes.ranks()) * bytes;
  char *one = nodes.room(Nodes::first, total), *other = nodes.room(Nodes::second, total);
  const auto at = [&](char *buffer, std::size_t index) { return buffer + index * bytes; };
  const auto of_rank = [&](const void *buffer, std::size_t node, std::size_t local) {
    const int rank = nodes.ranks_of(static_cast<int>(node))[local];
    return static_cast<char *>(const_cast<void *>(buffer)) + static_cast<std::size_t>(rank) * bytes;
  };
  // Order of blocks before the node's alltoall: [rail][node]; after it: [sending local rank][node]; sent:
  // [node][sending local rank]; received from the other nodes: likewise.
  for (std::size_t rail = 0; rail < locals; rail++)
    for (std::size_t node = 0; node < count; node++)
      std::memcpy(at(one, rail * count + node), of_rank(send, node, rail), bytes);
  nodes.intra_node().alltoall(one, other, count * bytes);
  for (std::size_t from = 0; from < locals; from++)
    for (std::size_t node = 0; node < count; node++)
      std::memcpy(at(one, node * locals + from), at(other, from * count + node), bytes);
  const int part = static_cast<int>(locals * bytes);
  check_mpi(mpi.Alltoall(one, part, mpi.byte, other, part, mpi.byte, nodes.rail()));
  for (std::size_t node = 0; node < count; node++)
    for (std::size_t from = 0; from < locals; from++)
      std::memcpy(of_rank(recv, node, from), at(other, node * locals + from), bytes);
}

}  // namespace coll::shim::two_level
