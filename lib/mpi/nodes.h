// SPDX-License-Identifier: BSD-3-Clause
// A communicator over several nodes: who sits where, and what joins its ranks.
//
// Nodes are numbered by their lowest rank, and a node's ranks by their order in the communicator: the local index.
// Ranks of one local index form a rail; those rails that reach every node are complete, and a leader of its node is a
// rank on a complete rail. Rank n of a rail is the one on node n.
#pragma once

#include "mpi/handles.h"
#include "mpi/inside.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace coll::shim {

// Freed together with the communicator that it belongs to.
class Nodes {
 public:
  // `first_on_node`: of every rank, the lowest rank of its node.
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
  // Where a node begins in by_node().
  int start_of(int node) const { return start_[static_cast<std::size_t>(node)]; }

  int rank() const { return rank_; }
  int node() const { return node_; }
  int local() const { return local_; }
  std::span<const int> locals() const { return ranks_of(node_); }
  // Complete ones, at least one.
  int rails() const { return rails_; }
  // Equally many ranks in every node.
  bool regular() const { return regular_; }
  // by_node() is 0, 1, 2, ...: combining node by node combines in rank order.
  bool contiguous() const { return contiguous_; }
  // The local index of the leaders in a collective with this root: the root itself is one whenever it can be.
  int leaders_for(int root) const { return local_of(root) < rails_ ? local_of(root) : 0; }

  // Makes the communicators across nodes; collective over `comm`. False when MPI refuses.
  bool join(MPI_Comm comm);
  // Takes over what libcoll made of this rank's node, NULL when the rank is alone there.
  void own(coll_comm *inside) { inside_ = Inside(inside); }

  const Inside &inside() const { return inside_; }
  MPI_Comm rail() const { return rail_; }  // complete ones only
  MPI_Comm all() const { return all_; }    // with the ranks of the communicator

  // Room that stays valid until the next call with the same `slot`. Throws std::bad_alloc.
  enum Slot { first, second, third, slots };
  char *room(Slot slot, std::size_t bytes);
  // For one number a rank.
  std::size_t *numbers(std::size_t count);

 private:
  std::vector<int> node_of_, local_of_, by_node_, start_;
  int rank_, node_, local_, rails_;
  bool regular_, contiguous_;
  Inside inside_;
  MPI_Comm rail_ = {}, all_ = {};
  bool has_rail_ = false, has_all_ = false;
  struct Room {
    std::unique_ptr<char[]> bytes;
    std::size_t size = 0;
  } rooms_[slots];
  std::vector<std::size_t> numbers_;
};

}  // namespace coll::shim
