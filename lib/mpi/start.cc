// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/start.h"

#include "mpi/arguments.h"
#include "mpi/datatypes.h"
#include "mpi/operations.h"
#include "mpi/packing.h"

#include <climits>
#include <cstddef>

namespace coll::shim {
namespace {

using Start = coll_status(const void *, void *, std::size_t, coll_datatype, coll_op, coll_comm *, coll_request **);

// A reduction with the same count at every rank, and a receive buffer at all but the first of an exscan.
template <Start start>
int start_reduction(Collective collective, const void *send, void *recv, MPI_Count count, MPI_Datatype datatype,
                    MPI_Op op, MPI_Comm comm, MPI_Request *request) {
  Starting call(collective, comm, count, datatype, request);
  Reduction reduction;
  std::shared_ptr<void> keeper;
  const void *from;
  if (!call.possible()) return call.impossible();
  if (count <= 0) return call.pass_on(why_not(count));
  const bool no_result = recv == nullptr && collective == iexscan && send != MPI_IN_PLACE;
  if ((recv == nullptr && !no_result) || recv == MPI_IN_PLACE || !sends_from(send, recv, &from))
    return call.pass_on(Why::arguments);
  if (!lasting_reduction_of(datatype, op, &reduction, &keeper)) return call.pass_on(Why::reduction);
  if (!call.join(0)) return call.result();
  if (no_result && call.rank() != 0) return call.pass_on(Why::arguments);
  return call.begin(
      [&](coll_comm *coll, coll_request **started) {
        return start(from, recv, static_cast<std::size_t>(count), reduction.type, reduction.op, coll, started);
      },
      nullptr, std::move(keeper));
}

template <typename Count>
int reduce_scatter_of(const void *send, void *recv, const Count *counts, MPI_Datatype datatype, MPI_Op op,
                      MPI_Comm comm, MPI_Request *request) {
  Starting call(ireduce_scatter, comm, -1, datatype, request);
  Reduction reduction;
  std::shared_ptr<void> keeper;
  const void *from;
  if (!call.possible()) return call.impossible();
  if (counts == nullptr || recv == MPI_IN_PLACE || !sends_from(send, recv, &from)) return call.pass_on(Why::arguments);
  if (!lasting_reduction_of(datatype, op, &reduction, &keeper)) return call.pass_on(Why::reduction);
  if (!call.join(0)) return call.result();
  std::size_t *numbers = call.communicator().number_space();
  if (numbers == nullptr) return call.fail(COLL_ERR_NO_MEMORY);
  std::size_t all = 0;
  for (int i = 0; i < call.ranks(); i++) {
    if (counts[i] < 0) return call.pass_on(Why::arguments);
    numbers[i] = static_cast<std::size_t>(counts[i]);
    all += numbers[i];
  }
  if (all == 0) return call.pass_on(Why::empty);
  return call.begin(
      [&](coll_comm *coll, coll_request **started) {
        return coll_ireduce_scatter(from, recv, numbers, reduction.type, reduction.op, coll, started);
      },
      nullptr, std::move(keeper));
}

}  // namespace

int start_barrier(MPI_Comm comm, MPI_Request *request) {
  Starting call(ibarrier, comm, 0, {}, request);
  if (!call.possible()) return call.impossible();
  if (!call.join(0)) return call.result();
  push_out();
  return call.begin(coll_ibarrier);
}

int start_bcast(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Request *request) {
  Starting call(ibcast, comm, count, datatype, request);
  if (!call.possible()) return call.impossible();
  if (count <= 0 || buffer == MPI_IN_PLACE) return call.pass_on(why_not(count));
  const Datatype *element = datatype_of(datatype);
  if (element == nullptr) return call.pass_on(Why::datatype);
  const std::size_t bytes = static_cast<std::size_t>(count) * element->size_bytes;
  if (bytes == 0) return call.pass_on(Why::empty);
  if (bytes > INT_MAX) return call.pass_on(Why::size);
  const bool in_order = element->in_order(count);
  if (buffer == nullptr && in_order) return call.pass_on(Why::arguments);
  if (!call.join(root)) return call.result();
  std::unique_ptr<Moved> moved;
  void *data = buffer;
  if (!in_order) {
    const bool is_root = call.rank() == root;
    moved = Moved::make(bytes);
    if (moved == nullptr) return call.fail(COLL_ERR_NO_MEMORY);
    data = moved->packed.get();
    if (is_root && !pack(buffer, static_cast<int>(count), datatype, moved->packed.get(), bytes))
      return call.fail(COLL_ERR_TYPE);
    if (!is_root) {
      const Datatype *kept = moved->keep(datatype);
      if (kept == nullptr) return call.fail(COLL_ERR_NO_MEMORY);
      moved->recv.describe(buffer, moved->kept, kept, count, 1);
      moved->recv.pack_at(moved->packed.get());
    }
  }
  return call.begin(
      [&](coll_comm *coll, coll_request **started) { return coll_ibcast(data, bytes, COLL_BYTE, root, coll, started); },
      std::move(moved));
}

int start_reduce(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                 MPI_Comm comm, MPI_Request *request) {
  Starting call(ireduce, comm, count, datatype, request);
  Reduction reduction;
  std::shared_ptr<void> keeper;
  if (!call.possible()) return call.impossible();
  if (count <= 0) return call.pass_on(why_not(count));
  if (!lasting_reduction_of(datatype, op, &reduction, &keeper)) return call.pass_on(Why::reduction);
  if (!call.join(root)) return call.result();
  const void *from = send;
  const bool right = call.rank() == root ? recv != nullptr && recv != MPI_IN_PLACE && sends_from(send, recv, &from)
                                         : send != nullptr && send != MPI_IN_PLACE;
  if (!right) return call.pass_on(Why::arguments);
  return call.begin(
      [&](coll_comm *coll, coll_request **started) {
        return coll_ireduce(from, recv, static_cast<std::size_t>(count), reduction.type, reduction.op, root, coll,
                            started);
      },
      nullptr, std::move(keeper));
}

int start_allreduce(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                    MPI_Request *request) {
  return start_reduction<coll_iallreduce>(iallreduce, send, recv, count, datatype, op, comm, request);
}

int start_reduce_scatter_block(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                               MPI_Comm comm, MPI_Request *request) {
  return start_reduction<coll_ireduce_scatter_block>(ireduce_scatter_block, send, recv, count, datatype, op, comm,
                                                     request);
}

int start_scan(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
               MPI_Request *request) {
  return start_reduction<coll_iscan>(iscan, send, recv, count, datatype, op, comm, request);
}

int start_exscan(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                 MPI_Request *request) {
  return start_reduction<coll_iexscan>(iexscan, send, recv, count, datatype, op, comm, request);
}

int start_reduce_scatter(const void *send, void *recv, const int *counts, MPI_Datatype datatype, MPI_Op op,
                         MPI_Comm comm, MPI_Request *request) {
  return reduce_scatter_of(send, recv, counts, datatype, op, comm, request);
}

int start_reduce_scatter(const void *send, void *recv, const MPI_Count *counts, MPI_Datatype datatype, MPI_Op op,
                         MPI_Comm comm, MPI_Request *request) {
  return reduce_scatter_of(send, recv, counts, datatype, op, comm, request);
}

}  // namespace coll::shim
