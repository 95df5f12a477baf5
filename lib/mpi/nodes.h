// SPDX-License-Identifier: BSD-3-Clause
// A communicator over several nodes: which rank is on which node, and the communicators that connect them.
//
// Nodes are numbered by their lowest rank, and a node's ranks by their order in the communicator: the local index.
// Ranks with the same local index form a rail. A rail that reaches every node is complete, and a leader is a rank on a
// complete rail. Rank n of a rail is on node n.
#pragma once

#include "mpi/handles.h"
#include "mpi/intra_node.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace coll::shim {

// Freed together with its communicator.
class Nodes {
 public:
  // `first_on_node`: for every rank, the lowest rank on its node.
  Nodes(const std::vector<int> &first_on_node, int rank);
  ~Nodes();
  Nodes(const Nodes &) = delete;
  Nodes &operator=(const Nodes &) = delete;

  int ranks() const { return static_cast<int>(node_of_.size()); }
  int nodes() const { return static_cast<int>(start_.size()) - 1; }
  int node_of(int rank) const { return node_of_[static_cast<std::size_t>(rank)]; }
  int local_of(int rank) const { return local_of_[static_cast<std::size_t>(rank)]; }
  // The ranks of a node, by their local index.
  std::span<const int> ranks_of(int node) const;
  // All ranks, node by node.
  const std::vector<int> &by_node() const { return by_node_; }
  // Index of a node's first rank in by_node().
  int start_of(int node) const { return start_[static_cast<std::size_t>(node)]; }

  int rank() const { return rank_; }
  int node() const { return node_; }
  int local() const { return local_; }
  std::span<const int> locals() const { return ranks_of(node_); }
  // Number of complete rails, at least one.
  int rails() const { return rails_; }
  // All nodes have the same number of ranks.
  bool regular() const { return regular_; }
  // by_node() is 0, 1, 2, ...: combining node by node is combining in rank order.
  bool contiguous() const { return contiguous_; }
  // The local index of the leaders in a collective with this root: the root's own if its rail is complete.
  int leaders_for(int root) const { return local_of(root) < rails_ ? local_of(root) : 0; }

  // Creates the communicators across nodes; collective over `comm`. Returns false if MPI reports an error.
  bool join(MPI_Comm comm);
  // Takes ownership of the libcoll communicator of this rank's node, NULL if the rank is alone there.
  void own(coll_comm *intra_node) { intra_node_ = IntraNode(intra_node); }

  const IntraNode &intra_node() const { return intra_node_; }
  MPI_Comm rail() const { return rail_; }  // only valid on a complete rail
  MPI_Comm all() const { return all_; }    // same ranks as the communicator

  // Temporary memory, valid until the next call with the same `slot`. Throws std::bad_alloc.
  enum Slot { first, second, third, slots };
  char *room(Slot slot, std::size_t bytes);
  // Temporary memory for `count` numbers, valid until the next call. Throws std::bad_alloc.
  std::size_t *numbers(std::size_t count);

 private:
  std::vector<int> node_of_, local_of_, by_node_, start_;
  int rank_, node_, local_, rails_;
  bool regular_, contiguous_;
  IntraNode intra_node_;
  MPI_Comm rail_ = {}, all_ = {};
  bool has_rail_ = false, has_all_ = false;
  struct Room {
    std::unique_ptr<char[]> bytes;
    std::size_t size = 0;
  } rooms_[slots];
  std::vector<std::size_t> numbers_;
};

}  // namespace coll::shim
