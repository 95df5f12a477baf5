// SPDX-License-Identifier: BSD-3-Clause
// Collectives of libcoll inside one of several nodes. If a node has one rank, there is no communicator, and a
// collective is a copy. Counts are in elements, sizes and displacements in bytes, roots are local indices. All
// functions throw Failure.
#pragma once

#include "mpi/operations.h"

#include <coll/coll.h>

#include <cstddef>

namespace coll::shim {

class IntraNode {
 public:
  IntraNode() = default;
  explicit IntraNode(coll_comm *coll) : coll_(coll) {}

  coll_comm *coll() const { return coll_; }

  void barrier() const;
  void bcast(void *buffer, std::size_t bytes, int root) const;
  // As coll_reduce(), except that the input is always `send`, which may be equal to `recv` at the root.
  void reduce(const void *send, void *recv, std::size_t count, const Reduction &reduction, int root) const;
  void reduce_scatter(const void *send, void *recv, const std::size_t *counts, const Reduction &reduction) const;
  // `send` may be COLL_IN_PLACE.
  void scan(const void *send, void *recv, std::size_t count, const Reduction &reduction) const;
  void exscan(const void *send, void *recv, std::size_t count, const Reduction &reduction) const;
  // Blocks of any size. `sizes` and `displs` are significant at the root only; without `displs` the blocks are
  // adjacent. `send` of the gather's root and `recv` of the scatter's root may be COLL_IN_PLACE.
  void gather(const void *send, std::size_t bytes, void *recv, const std::size_t *sizes, const std::size_t *displs,
              int root) const;
  void scatter(const void *send, const std::size_t *sizes, const std::size_t *displs, void *recv, std::size_t bytes,
               int root) const;
  // `sizes` are significant on all ranks; `send` may be COLL_IN_PLACE.
  void allgather(const void *send, std::size_t bytes, void *recv, const std::size_t *sizes,
                 const std::size_t *displs) const;
  // All blocks have `bytes` bytes.
  void alltoall(const void *send, void *recv, std::size_t bytes) const;

 private:
  coll_comm *coll_ = nullptr;
};

}  // namespace coll::shim
