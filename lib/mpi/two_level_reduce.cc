// SPDX-License-Identifier: BSD-3-Clause
//
// Short vectors are reduced by one leader per node. Long ones are split into chunks, and each chunk into parts for
// several leaders, which reduce their parts inside the node and combine them with the leaders on the same rail; while
// one chunk crosses between nodes, the node reduces the next.
#include "mpi/chunks.h"
#include "mpi/two_level.h"

namespace coll::shim::two_level {
namespace {

constexpr std::size_t most_leaders = 16;
constexpr std::size_t part_least_bytes = std::size_t{8} << 10;  // below it another leader costs more than it saves
constexpr std::size_t part_most_bytes = std::size_t{2} << 20;   // size of a part of one chunk

// How chunks are split: the first `leaders` ranks of every node get equal parts, and the first of them also the
// remainder. Operations that do not commute have one leader, whose MPI calls keep the order in every version.
class Partition {
 public:
  Partition(Nodes &nodes, std::size_t count, const Reduction &reduction)
      : nodes_(nodes), element_bytes_(reduction.element_bytes) {
    const std::size_t parts = count * element_bytes_ / part_least_bytes;
    leaders_ = reduction.commutes ? std::min({static_cast<std::size_t>(nodes.rails()), parts, most_leaders}) : 1;
    most_ = std::max<std::size_t>(part_most_bytes / element_bytes_, 1);
    const std::size_t locals = nodes.locals().size();
    counts_ = nodes.numbers(2 * locals);
    bytes_ = counts_ + locals;
  }

  bool several() const { return leaders_ > 1; }
  std::size_t chunk_elements() const { return most_ * leaders_; }

  // The parts of one chunk by local index, in elements, and in bytes; valid until the next call of either function.
  const std::size_t *counts(const Chunk &chunk) {
    for (std::size_t i = 0; i < nodes_.locals().size(); i++) {
      counts_[i] = i < leaders_ ? chunk.count / leaders_ : 0;
      if (i == 0) counts_[i] += chunk.count % leaders_;
      bytes_[i] = counts_[i] * element_bytes_;
    }
    return counts_;
  }
  const std::size_t *bytes(const Chunk &chunk) {
    counts(chunk);
    return bytes_;
  }
  int own_count(const Chunk &chunk) { return static_cast<int>(counts(chunk)[nodes_.local()]); }
  // Offset of this rank's part in the chunk, in bytes.
  std::size_t own_offset(const Chunk &chunk) {
    const auto local = static_cast<std::size_t>(nodes_.local());
    return local > 0 && local < leaders_ ? bytes(chunk)[0] + (local - 1) * bytes_[local] : 0;
  }
  // Memory for this rank's part: the node's result, and the result of all nodes.
  char *own(const Chunk &chunk) { return room(chunk, 0); }
  char *result(const Chunk &chunk) { return room(chunk, 1); }

 private:
  char *room(const Chunk &chunk, std::size_t half) {
    const std::size_t bytes = (most_ + leaders_) * element_bytes_;
    return nodes_.room(chunk.slot() == 0 ? Nodes::first : Nodes::second, 2 * bytes) + half * bytes;
  }

  Nodes &nodes_;
  std::size_t element_bytes_, leaders_, most_;
  std::size_t *counts_, *bytes_;
};

const char *element(const void *buffer, std::size_t index, const Reduction &reduction) {
  return static_cast<const char *>(buffer) + index * reduction.element_bytes;
}
char *element(void *buffer, std::size_t index, const Reduction &reduction) {
  return static_cast<char *>(buffer) + index * reduction.element_bytes;
}

}  // namespace

bool can_reduce(const Nodes &nodes, const Reduction &reduction) { return reduction.commutes || nodes.contiguous(); }

namespace {

void allreduce_by_one(Nodes &nodes, const void *send, void *recv, std::size_t count, const Reduction &reduction) {
  const std::size_t bytes = count * reduction.element_bytes;
  const bool leads = nodes.local() == 0;
  char *own = leads ? nodes.room(Nodes::first, bytes) : nullptr;
  nodes.intra_node().reduce(send, own, count, reduction, 0);
  if (leads)
    check_mpi(mpi.Allreduce(own, recv, static_cast<int>(count), reduction.datatype, reduction.operation, nodes.rail()));
  nodes.intra_node().bcast(recv, bytes, 0);
}

void reduce_by_one(Nodes &nodes, const void *send, void *recv, std::size_t count, const Reduction &reduction,
                   int root) {
  const int leader = nodes.leaders_for(root);
  const int root_node = nodes.node_of(root);
  const std::size_t bytes = count * reduction.element_bytes;
  const bool leads = nodes.local() == leader;
  const bool is_root = nodes.rank() == root;
  const bool root_is_no_leader = nodes.node() == root_node && nodes.local_of(root) != leader;
  char *own = leads ? nodes.room(Nodes::first, bytes) : nullptr;
  void *result = root_is_no_leader && leads ? nodes.room(Nodes::second, bytes) : recv;
  nodes.intra_node().reduce(send, own, count, reduction, leader);
  if (leads)
    check_mpi(mpi.Reduce(own, result, static_cast<int>(count), reduction.datatype, reduction.operation, root_node,
                         nodes.rail()));
  if (!root_is_no_leader) return;
  std::size_t *sizes = nodes.numbers(nodes.locals().size());
  for (std::size_t i = 0; i < nodes.locals().size(); i++) sizes[i] = nodes.locals()[i] == root ? bytes : 0;
  nodes.intra_node().scatter(result, sizes, nullptr, recv, is_root ? bytes : 0, leader);
}

}  // namespace

void allreduce(Nodes &nodes, const void *send, void *recv, std::size_t count, const Reduction &reduction) {
  Partition partition(nodes, count, reduction);
  if (!partition.several()) return allreduce_by_one(nodes, send, recv, count, reduction);
  Transfers transfers;
  overlap(
      count, partition.chunk_elements(),
      [&](const Chunk &chunk) {
        char *own = partition.own(chunk);
        nodes.intra_node().reduce_scatter(element(send, chunk.first, reduction), own, partition.counts(chunk),
                                          reduction);
        // No rank reads this chunk of the input any more, so the result may overwrite it.
        if (const int part = partition.own_count(chunk); part > 0)
          check_mpi(mpi.Iallreduce(own, element(recv, chunk.first, reduction) + partition.own_offset(chunk), part,
                                   reduction.datatype, reduction.operation, nodes.rail(), transfers.start(chunk)));
      },
      [&](const Chunk &chunk) {
        transfers.wait(chunk);
        nodes.intra_node().allgather(COLL_IN_PLACE, 0, element(recv, chunk.first, reduction), partition.bytes(chunk),
                                     nullptr);
      });
}

void reduce(Nodes &nodes, const void *send, void *recv, std::size_t count, const Reduction &reduction, int root) {
  Partition partition(nodes, count, reduction);
  if (!partition.several()) return reduce_by_one(nodes, send, recv, count, reduction, root);
  const int root_node = nodes.node_of(root);
  Transfers transfers;
  overlap(
      count, partition.chunk_elements(),
      [&](const Chunk &chunk) {
        char *own = partition.own(chunk);
        nodes.intra_node().reduce_scatter(element(send, chunk.first, reduction), own, partition.counts(chunk),
                                          reduction);
        if (const int part = partition.own_count(chunk); part > 0)
          check_mpi(mpi.Ireduce(own, partition.result(chunk), part, reduction.datatype, reduction.operation, root_node,
                                nodes.rail(), transfers.start(chunk)));
      },
      [&](const Chunk &chunk) {
        transfers.wait(chunk);
        if (nodes.node() != root_node) return;
        const std::size_t *bytes = partition.bytes(chunk);
        nodes.intra_node().gather(partition.result(chunk), bytes[nodes.local()], element(recv, chunk.first, reduction),
                                  bytes, nullptr, nodes.local_of(root));
      });
}

}  // namespace coll::shim::two_level
