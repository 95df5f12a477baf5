// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/intra_node.h"

#include "mpi/errors.h"

#include <cstring>

namespace coll::shim {
namespace {

// Copies the single block of a rank that is alone on its node.
void move(const void *send, void *recv, std::size_t bytes) {
  if (bytes > 0 && send != recv) std::memcpy(recv, send, bytes);
}

char *at(const void *buffer, const std::size_t *displs) {
  return static_cast<char *>(const_cast<void *>(buffer)) + (displs != nullptr ? *displs : 0);
}

}  // namespace

void IntraNode::barrier() const {
  if (coll_ != nullptr) check(coll_barrier(coll_));
}

void IntraNode::bcast(void *buffer, std::size_t bytes, int root) const {
  if (coll_ != nullptr && bytes > 0) check(of_rooted(coll_bcast(buffer, bytes, COLL_BYTE, root, coll_)));
}

void IntraNode::reduce(const void *send, void *recv, std::size_t count, const Reduction &reduction, int root) const {
  if (coll_ == nullptr) return move(send, recv, count * reduction.element_bytes);
  const void *from = send == recv && coll_comm_rank(coll_) == root ? COLL_IN_PLACE : send;
  check(coll_reduce(from, recv, count, reduction.type, reduction.op, root, coll_));
}

void IntraNode::reduce_scatter(const void *send, void *recv, const std::size_t *counts,
                               const Reduction &reduction) const {
  if (coll_ == nullptr) return move(send, recv, *counts * reduction.element_bytes);
  check(coll_reduce_scatter(send, recv, counts, reduction.type, reduction.op, coll_));
}

void IntraNode::scan(const void *send, void *recv, std::size_t count, const Reduction &reduction) const {
  if (coll_ != nullptr) check(coll_scan(send, recv, count, reduction.type, reduction.op, coll_));
  else if (send != COLL_IN_PLACE) move(send, recv, count * reduction.element_bytes);
}

void IntraNode::exscan(const void *send, void *recv, std::size_t count, const Reduction &reduction) const {
  if (coll_ != nullptr) check(coll_exscan(send, recv, count, reduction.type, reduction.op, coll_));
}

void IntraNode::gather(const void *send, std::size_t bytes, void *recv, const std::size_t *sizes,
                       const std::size_t *displs, int root) const {
  if (coll_ != nullptr) check(coll_gatherv(send, bytes, recv, sizes, displs, COLL_BYTE, root, coll_));
  else if (send != COLL_IN_PLACE) move(send, at(recv, displs), bytes);
}

void IntraNode::scatter(const void *send, const std::size_t *sizes, const std::size_t *displs, void *recv,
                        std::size_t bytes, int root) const {
  if (coll_ != nullptr) check(coll_scatterv(send, sizes, displs, recv, bytes, COLL_BYTE, root, coll_));
  else if (recv != COLL_IN_PLACE) move(at(send, displs), recv, bytes);
}

void IntraNode::allgather(const void *send, std::size_t bytes, void *recv, const std::size_t *sizes,
                          const std::size_t *displs) const {
  if (coll_ != nullptr) check(coll_allgatherv(send, bytes, recv, sizes, displs, COLL_BYTE, coll_));
  else if (send != COLL_IN_PLACE) move(send, at(recv, displs), bytes);
}

void IntraNode::alltoall(const void *send, void *recv, std::size_t bytes) const {
  if (coll_ != nullptr) check(coll_alltoall(send, recv, bytes, COLL_BYTE, coll_));
  else move(send, recv, bytes);
}

}  // namespace coll::shim
