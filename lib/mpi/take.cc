// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/take.h"

#include "mpi/datatypes.h"
#include "mpi/operations.h"
#include "mpi/packing.h"

#include <climits>
#include <cstddef>

namespace coll::shim {
namespace {

coll_status bcast_bytes(void *buffer, std::size_t bytes, int root, const Taking &call) {
  return coll_bcast(buffer, bytes, COLL_BYTE, root, call.coll());
}

// MPI counts packed bytes in an int; longer broadcasts are passed on, so `bytes` fits.
coll_status bcast_packed(void *buffer, int count, MPI_Datatype datatype, std::size_t bytes, int root,
                         const Taking &call) {
  char *packed = call.communicator().packing_space(bytes);
  if (packed == nullptr) return COLL_ERR_NO_MEMORY;
  const bool is_root = call.rank() == root;
  if (is_root && !pack(buffer, count, datatype, packed, bytes)) return COLL_ERR_TYPE;
  const coll_status status = bcast_bytes(packed, bytes, root, call);
  if (status == COLL_OK && !is_root && !unpack(packed, bytes, buffer, count, datatype)) return COLL_ERR_TYPE;
  return status;
}

// The send buffer as libcoll wants it. Open MPI lets a program name one buffer twice and means in place; MPICH
// calls it an error, and gets to say so.
bool sends_from(const void *send, const void *recv, const void **from) {
  *from = send == MPI_IN_PLACE ? COLL_IN_PLACE : send;
  if (send == recv) {
#ifdef OPEN_MPI
    *from = COLL_IN_PLACE;
#else
    return false;
#endif
  }
  return send != nullptr;
}

using ReductionCall = coll_status(const void *, void *, std::size_t, coll_datatype, coll_op, coll_comm *);

Why why_not(int count) { return count == 0 ? Why::empty : Why::arguments; }

// One with the same count, and a receive buffer, at every rank.
int take_reduction(Collective collective, ReductionCall *perform, const void *send, void *recv, int count,
                   MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  Taking call(collective, comm);
  Reduction reduction;
  const void *from;
  if (!call.possible()) return call.impossible();
  if (count <= 0) return call.pass_on(why_not(count));
  if (recv == nullptr || recv == MPI_IN_PLACE || !sends_from(send, recv, &from)) return call.pass_on(Why::arguments);
  if (!reduction_of(datatype, op, &reduction)) return call.pass_on(Why::reduction);
  if (!call.join(0)) return call.result();
  return call.finish(perform(from, recv, static_cast<std::size_t>(count), reduction.type, reduction.op, call.coll()));
}

}  // namespace

int take_barrier(MPI_Comm comm) {
  Taking call(barrier, comm);
  if (!call.possible()) return call.impossible();
  if (!call.join(0)) return call.result();
  return call.finish(coll_barrier(call.coll()));
}

int take_bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  Taking call(bcast, comm);
  if (!call.possible()) return call.impossible();
  if (count <= 0 || buffer == MPI_IN_PLACE) return call.pass_on(why_not(count));
  const Datatype *element = datatype_of(datatype);
  if (element == nullptr) return call.pass_on(Why::datatype);
  const std::size_t bytes = static_cast<std::size_t>(count) * element->size_bytes;
  const bool in_order = element->in_order(count);
  if (bytes == 0) return call.pass_on(Why::empty);
  if (bytes > INT_MAX) return call.pass_on(Why::size);
  if (buffer == nullptr && in_order) return call.pass_on(Why::arguments);
  if (!call.join(root)) return call.result();
  return call.finish(in_order ? bcast_bytes(buffer, bytes, root, call)
                              : bcast_packed(buffer, count, datatype, bytes, root, call));
}

int take_reduce(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm) {
  Taking call(reduce, comm);
  Reduction reduction;
  if (!call.possible()) return call.impossible();
  if (count <= 0) return call.pass_on(why_not(count));
  if (!reduction_of(datatype, op, &reduction)) return call.pass_on(Why::reduction);
  if (!call.join(root)) return call.result();
  const void *from = send;
  const bool right = call.rank() == root ? recv != nullptr && recv != MPI_IN_PLACE && sends_from(send, recv, &from)
                                         : send != nullptr && send != MPI_IN_PLACE;
  if (!right) return call.pass_on(Why::arguments);
  return call.finish(
      coll_reduce(from, recv, static_cast<std::size_t>(count), reduction.type, reduction.op, root, call.coll()));
}

int take_allreduce(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return take_reduction(allreduce, coll_allreduce, send, recv, count, datatype, op, comm);
}

int take_reduce_scatter_block(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op,
                              MPI_Comm comm) {
  return take_reduction(reduce_scatter_block, coll_reduce_scatter_block, send, recv, count, datatype, op, comm);
}

int take_scan(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return take_reduction(scan, coll_scan, send, recv, count, datatype, op, comm);
}

int take_exscan(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return take_reduction(exscan, coll_exscan, send, recv, count, datatype, op, comm);
}

int take_reduce_scatter(const void *send, void *recv, const int *counts, MPI_Datatype datatype, MPI_Op op,
                        MPI_Comm comm) {
  Taking call(reduce_scatter, comm);
  Reduction reduction;
  const void *from;
  if (!call.possible()) return call.impossible();
  // A rank with a count of 0 may have no receive buffer.
  if (counts == nullptr || recv == MPI_IN_PLACE || !sends_from(send, recv, &from)) return call.pass_on(Why::arguments);
  if (!reduction_of(datatype, op, &reduction)) return call.pass_on(Why::reduction);
  if (!call.join(0)) return call.result();
  std::size_t *numbers = call.communicator().number_space();
  if (numbers == nullptr) return call.finish(COLL_ERR_NO_MEMORY);
  std::size_t all = 0;
  for (int i = 0; i < call.ranks(); i++) {
    if (counts[i] < 0) return call.pass_on(Why::arguments);
    all += numbers[i] = static_cast<std::size_t>(counts[i]);
  }
  if (all == 0) return call.pass_on(Why::empty);
  return call.finish(coll_reduce_scatter(from, recv, numbers, reduction.type, reduction.op, call.coll()));
}

}  // namespace coll::shim
