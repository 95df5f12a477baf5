// SPDX-License-Identifier: BSD-3-Clause
//
// Gather and scatter in two levels (section VII-G of the CMA paper): a node's ranks gather to a leader, which sends
// messages to the root; meanwhile the root gathers from its own node. The blocks of a node's ranks, one after the
// other, are a stream that is sent in chunks, so no leader holds more than two chunks. Scatter is the reverse.
#include "mpi/chunks.h"
#include "mpi/two_level.h"

#include <algorithm>
#include <vector>

namespace coll::shim::two_level {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{512} << 10;
constexpr int tag = 0;
constexpr int leader = 0;  // on all nodes except the root's

// The part of a chunk that is in a block of `size` bytes, which begins at `begin` in its stream.
struct Share {
  std::size_t offset;  // from the start of the block
  std::size_t bytes;
};
Share share_of(const Chunk &chunk, std::size_t begin, std::size_t size) {
  const std::size_t from = std::clamp(chunk.first, begin, begin + size);
  const std::size_t to = std::clamp(chunk.first + chunk.count, begin, begin + size);
  return {from - begin, to - from};
}

// The stream of a node without the root, as the node's ranks see it.
class Stream {
 public:
  Stream(Nodes &nodes, std::size_t own_bytes, bool irregular) : nodes_(nodes) {
    const std::size_t locals = nodes.locals().size();
    sizes_ = nodes.numbers(2 * locals);
    parts_ = sizes_ + locals;
    std::fill_n(sizes_, locals, own_bytes);
    if (!irregular) return;
    std::fill_n(parts_, locals, sizeof own_bytes);
    nodes.intra_node().allgather(&own_bytes, sizeof own_bytes, sizes_, parts_, nullptr);
  }

  std::size_t bytes() const {
    std::size_t total = 0;
    for (std::size_t i = 0; i < nodes_.locals().size(); i++) total += sizes_[i];
    return total;
  }
  // Returns this rank's share of a chunk; afterwards parts() has the shares of all ranks in bytes.
  Share cut(const Chunk &chunk) {
    Share own{};
    std::size_t begin = 0;
    for (std::size_t i = 0; i < nodes_.locals().size(); i++) {
      const Share share = share_of(chunk, begin, sizes_[i]);
      begin += sizes_[i];
      parts_[i] = share.bytes;
      if (static_cast<int>(i) == nodes_.local()) own = share;
    }
    return own;
  }
  const std::size_t *parts() const { return parts_; }
  // Returns the leader's memory for a chunk; NULL on other ranks.
  char *chunk_at(const Chunk &chunk) {
    if (nodes_.local() != leader) return nullptr;
    return nodes_.room(chunk.slot() == 0 ? Nodes::first : Nodes::second, chunk_bytes);
  }

 private:
  Nodes &nodes_;
  std::size_t *sizes_, *parts_;
};

// At the root: the messages to or from the leaders of all other nodes, directly from or to the root's buffer.
class Messages {
 public:
  // `one(buffer, count, datatype, other rank, request)` sends or receives one message.
  template <typename One>
  Messages(const Nodes &nodes, void *buffer, const Blocks &blocks, One one) {
    // Round-robin, so that all nodes are busy.
    bool more = true;
    for (std::size_t number = 0; more; number++) {
      more = false;
      for (int node = 0; node < nodes.nodes(); node++)
        if (node != nodes.node() &&
            describe(nodes.ranks_of(node), {number, number * chunk_bytes, chunk_bytes}, blocks)) {
          more = true;
          post(static_cast<char *>(buffer), nodes.ranks_of(node)[leader], one);
        }
    }
  }
  void wait() { check_mpi(mpi.Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE)); }

 private:
  // Describes where a chunk of a node's stream is in the buffer. Returns false if there is no such chunk.
  bool describe(std::span<const int> ranks, const Chunk &chunk, const Blocks &blocks) {
    sizes_.clear();
    displs_.clear();
    std::size_t begin = 0;
    for (const int rank : ranks) {
      const Share share = share_of(chunk, begin, blocks.count(rank));
      begin += blocks.count(rank);
      if (share.bytes == 0) continue;
      const auto displ = static_cast<MPI_Aint>(blocks.displ(rank) + share.offset);
      if (!sizes_.empty() && displs_.back() + sizes_.back() == displ) {
        sizes_.back() += static_cast<int>(share.bytes);
      } else {
        sizes_.push_back(static_cast<int>(share.bytes));
        displs_.push_back(displ);
      }
    }
    return !sizes_.empty();
  }

  template <typename One>
  void post(char *buffer, int rank, One one) {
    MPI_Request request;
    if (sizes_.size() == 1) {
      check_mpi(one(buffer + displs_[0], sizes_[0], mpi.byte, rank, &request));
    } else {
      MPI_Datatype scattered;
      check_mpi(mpi.Type_create_hindexed(static_cast<int>(sizes_.size()), sizes_.data(), displs_.data(), mpi.byte,
                                         &scattered));
      check_mpi(mpi.Type_commit(&scattered));
      check_mpi(one(buffer, 1, scattered, rank, &request));
      check_mpi(mpi.Type_free(&scattered));
    }
    requests_.push_back(request);
  }

  std::vector<MPI_Request> requests_;
  std::vector<int> sizes_;
  std::vector<MPI_Aint> displs_;
};

// At the root: the blocks of its own node, for libcoll.
struct Own {
  Own(Nodes &nodes, const Blocks &blocks) {
    const std::size_t locals = nodes.locals().size();
    sizes = nodes.numbers(2 * locals);
    displs = sizes + locals;
    for (std::size_t i = 0; i < locals; i++) {
      sizes[i] = blocks.count(nodes.locals()[i]);
      displs[i] = blocks.displ(nodes.locals()[i]);
    }
  }
  std::size_t *sizes, *displs;
};

}  // namespace

void gather(Nodes &nodes, const void *send, std::size_t bytes, void *recv, const Blocks &blocks, bool irregular,
            int root) {
  const int local_root = nodes.local_of(root);
  if (nodes.rank() == root) {
    Messages messages(nodes, recv, blocks, [&](void *to, int count, MPI_Datatype type, int rank, MPI_Request *request) {
      return mpi.Irecv(to, count, type, rank, tag, nodes.all(), request);
    });
    const Own own(nodes, blocks);
    nodes.intra_node().gather(send, bytes, recv, own.sizes, own.displs, local_root);
    messages.wait();
  } else if (nodes.node() == nodes.node_of(root)) {
    nodes.intra_node().gather(send, bytes, nullptr, nullptr, nullptr, local_root);
  } else {
    Stream stream(nodes, bytes, irregular);
    Transfers transfers;
    overlap(
        stream.bytes(), chunk_bytes,
        [&](const Chunk &chunk) {
          const Share own = stream.cut(chunk);
          char *at = stream.chunk_at(chunk);
          nodes.intra_node().gather(static_cast<const char *>(send) + own.offset, own.bytes, at, stream.parts(),
                                    nullptr, leader);
          if (nodes.local() == leader)
            check_mpi(
                mpi.Isend(at, static_cast<int>(chunk.count), mpi.byte, root, tag, nodes.all(), transfers.start(chunk)));
        },
        [&](const Chunk &chunk) { transfers.wait(chunk); });
  }
}

void scatter(Nodes &nodes, const void *send, const Blocks &blocks, void *recv, std::size_t bytes, bool irregular,
             int root) {
  const int local_root = nodes.local_of(root);
  if (nodes.rank() == root) {
    Messages messages(nodes, const_cast<void *>(send), blocks,
                      [&](void *from, int count, MPI_Datatype type, int rank, MPI_Request *request) {
                        return mpi.Isend(from, count, type, rank, tag, nodes.all(), request);
                      });
    const Own own(nodes, blocks);
    nodes.intra_node().scatter(send, own.sizes, own.displs, recv, bytes, local_root);
    messages.wait();
  } else if (nodes.node() == nodes.node_of(root)) {
    nodes.intra_node().scatter(nullptr, nullptr, nullptr, recv, bytes, local_root);
  } else {
    Stream stream(nodes, bytes, irregular);
    Transfers transfers;
    overlap(
        stream.bytes(), chunk_bytes,
        [&](const Chunk &chunk) {
          if (nodes.local() == leader)
            check_mpi(mpi.Irecv(stream.chunk_at(chunk), static_cast<int>(chunk.count), mpi.byte, root, tag, nodes.all(),
                                transfers.start(chunk)));
        },
        [&](const Chunk &chunk) {
          transfers.wait(chunk);
          const Share own = stream.cut(chunk);
          nodes.intra_node().scatter(stream.chunk_at(chunk), stream.parts(), nullptr,
                                     static_cast<char *>(recv) + own.offset, own.bytes, leader);
        });
  }
}

}  // namespace coll::shim::two_level
