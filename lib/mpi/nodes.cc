// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/nodes.h"

#include "mpi/library.h"

#include <coll/shim.h>

#include <algorithm>

namespace coll::shim {

Nodes::Nodes(const std::vector<int> &first_on_node, int rank) : rank_(rank) {
  const int ranks = static_cast<int>(first_on_node.size());
  const auto index = [](int i) { return static_cast<std::size_t>(i); };
  node_of_.resize(first_on_node.size());
  local_of_.resize(first_on_node.size());
  std::vector<int> sizes;
  for (int r = 0; r < ranks; r++) {
    const int lowest = first_on_node[index(r)];
    if (lowest == r) {
      node_of_[index(r)] = static_cast<int>(sizes.size());
      sizes.push_back(0);
    } else {
      node_of_[index(r)] = node_of(lowest);
    }
    local_of_[index(r)] = sizes[index(node_of(r))]++;
  }
  start_.push_back(0);
  for (const int size : sizes) start_.push_back(start_.back() + size);
  by_node_.resize(first_on_node.size());
  for (int r = 0; r < ranks; r++) by_node_[index(start_of(node_of(r)) + local_of(r))] = r;

  node_ = node_of(rank);
  local_ = local_of(rank);
  rails_ = *std::min_element(sizes.begin(), sizes.end());
  regular_ = rails_ == *std::max_element(sizes.begin(), sizes.end());
  contiguous_ = std::is_sorted(by_node_.begin(), by_node_.end());
}

Nodes::~Nodes() {
  coll_comm_keep(intra_node_.coll());
  if (has_rail_) mpi.Comm_free(&rail_);
  if (has_all_) mpi.Comm_free(&all_);
}

std::span<const int> Nodes::ranks_of(int node) const {
  const int start = start_of(node);
  return std::span(by_node_).subspan(static_cast<std::size_t>(start),
                                     static_cast<std::size_t>(start_of(node + 1) - start));
}

bool Nodes::join(MPI_Comm comm) {
  const int color = local_ < rails_ ? local_ : MPI_UNDEFINED;
  const bool split = mpi.Comm_split(comm, color, node_, &rail_) == MPI_SUCCESS;
  has_rail_ = split && color != MPI_UNDEFINED;
  // Neither MPI_Comm_dup nor Open MPI's MPI_Comm_create_group, which would copy the program's attributes.
  has_all_ = mpi.Comm_split(comm, 0, rank_, &all_) == MPI_SUCCESS;
  if (has_rail_) mpi.Comm_set_errhandler(rail_, mpi.errors_return);
  if (has_all_) mpi.Comm_set_errhandler(all_, mpi.errors_return);
  return split && has_all_;
}

char *Nodes::room(Slot slot, std::size_t bytes) {
  Room &room = rooms_[slot];
  if (bytes > room.size) {
    room = {};
    room.bytes.reset(new char[bytes]);
    room.size = bytes;
  }
  return room.bytes.get();
}

std::size_t *Nodes::numbers(std::size_t count) {
  if (numbers_.size() < count) numbers_.resize(count);
  return numbers_.data();
}

}  // namespace coll::shim
