// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/start.h"

#include "mpi/arguments.h"
#include "mpi/datatypes.h"
#include "mpi/devices.h"
#include "mpi/host_copy.h"
#include "mpi/operations.h"
#include "mpi/packing.h"

#include <climits>
#include <cstddef>

namespace coll::shim {
namespace {

using Start = coll_status(const void *, void *, std::size_t, coll_datatype, coll_op, coll_comm *, coll_request **);

// Replaces operands and result of a reduction by copies in host memory, which `kept` owns, if they are in a device's
// memory. Returns false if there is no memory, or the copy fails.
bool take_from_devices(const StartCall &call, const void **from, std::size_t inputs, void **recv, std::size_t outputs,
                       MPI_Datatype datatype, Kept *kept) try {
  if (!has_devices) [[likely]]
    return true;
  auto copies = std::make_unique<ReductionCopies>(*from, inputs, *recv, outputs, datatype);
  if (!copies->any()) return true;
  *from = copies->from();
  *recv = copies->recv();
  kept->copies = std::move(copies);
  return call.persistent() || kept->copies->load();
} catch (const std::bad_alloc &) { return false; }

// Starts a reduction with the same count on every rank, and a receive buffer on all ranks except rank 0 of an exscan.
template <Start start, Start init>
int start_reduction(Collective collective, const void *send, void *recv, MPI_Count count, MPI_Datatype datatype,
                    MPI_Op op, MPI_Comm comm, Target target) {
  StartCall call(collective, comm, count, datatype, target);
  Reduction reduction;
  Kept kept;
  const void *from;
  if (!call.possible()) return call.impossible();
  if (count <= 0) return call.decline(why_not(count));
  const bool no_result = recv == nullptr && collective == iexscan && send != MPI_IN_PLACE;
  if ((recv == nullptr && !no_result) || recv == MPI_IN_PLACE || !sends_from(send, recv, &from))
    return call.decline(Why::arguments);
  if (!lasting_reduction_of(datatype, op, &reduction, &kept.operation)) return call.decline(Why::reduction);
  if (!call.join(0)) return call.result();
  if (no_result && call.rank() != 0) return call.decline(Why::arguments);
  const auto elements = static_cast<std::size_t>(count);
  const std::size_t inputs =
      collective == ireduce_scatter_block ? elements * static_cast<std::size_t>(call.ranks()) : elements;
  const std::size_t outputs = collective == iexscan && call.rank() == 0 ? 0 : elements;
  if (!take_from_devices(call, &from, inputs, &recv, outputs, datatype, &kept)) return call.fail(COLL_ERR_NO_MEMORY);
  return call.begin(
      [&](coll_comm *coll, coll_request **started) {
        return call.form(start, init)(from, recv, elements, reduction.type, reduction.op, coll, started);
      },
      std::move(kept));
}

template <typename Count>
int reduce_scatter_of(const void *send, void *recv, const Count *counts, MPI_Datatype datatype, MPI_Op op,
                      MPI_Comm comm, Target target) {
  StartCall call(ireduce_scatter, comm, -1, datatype, target);
  Reduction reduction;
  Kept kept;
  const void *from;
  if (!call.possible()) return call.impossible();
  if (counts == nullptr || recv == MPI_IN_PLACE || !sends_from(send, recv, &from)) return call.decline(Why::arguments);
  if (!lasting_reduction_of(datatype, op, &reduction, &kept.operation)) return call.decline(Why::reduction);
  if (!call.join(0)) return call.result();
  std::size_t *numbers = call.communicator().number_space();
  if (numbers == nullptr) return call.fail(COLL_ERR_NO_MEMORY);
  std::size_t all = 0;
  for (int i = 0; i < call.ranks(); i++) {
    if (counts[i] < 0) return call.decline(Why::arguments);
    numbers[i] = static_cast<std::size_t>(counts[i]);
    all += numbers[i];
  }
  if (all == 0) return call.decline(Why::empty);
  if (!take_from_devices(call, &from, all, &recv, numbers[call.rank()], datatype, &kept))
    return call.fail(COLL_ERR_NO_MEMORY);
  return call.begin(
      [&](coll_comm *coll, coll_request **started) {
        return call.form(coll_ireduce_scatter, coll_reduce_scatter_init)(from, recv, numbers, reduction.type,
                                                                         reduction.op, coll, started);
      },
      std::move(kept));
}

}  // namespace

int start_barrier(MPI_Comm comm, Target target) {
  StartCall call(ibarrier, comm, 0, {}, target);
  if (!call.possible()) return call.impossible();
  if (!call.join(0)) return call.result();
  if (!call.persistent()) flush_sends();
  return call.begin(call.form(coll_ibarrier, coll_barrier_init));
}

int start_bcast(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm, Target target) {
  StartCall call(ibcast, comm, count, datatype, target);
  if (!call.possible()) return call.impossible();
  if (count <= 0 || buffer == MPI_IN_PLACE) return call.decline(why_not(count));
  const Datatype *element = datatype_of(datatype);
  if (element == nullptr) return call.decline(Why::datatype);
  const std::size_t bytes = static_cast<std::size_t>(count) * element->size_bytes;
  if (bytes == 0) return call.decline(Why::empty);
  if (bytes > INT_MAX) return call.decline(Why::size);
  const bool in_order = element->in_order(count);
  if (buffer == nullptr && in_order) return call.decline(Why::arguments);
  if (!call.join(root)) return call.result();
  std::unique_ptr<BlockBuffers> buffers;
  void *data = buffer;
  if (!in_order || in_device(buffer)) {
    buffers = BlockBuffers::make(bytes);
    if (buffers == nullptr) return call.fail(COLL_ERR_NO_MEMORY);
    data = buffers->packed.get();
    Side &side = call.rank() == root ? buffers->send : buffers->recv;
    side.describe(buffer, datatype, element, count, 1);
    side.pack_at(buffers->packed.get());
    if ((call.persistent() && !buffers->keep_sent()) || !buffers->keep_received()) return call.fail(COLL_ERR_NO_MEMORY);
    if (!call.persistent() && !buffers->load()) return call.fail(COLL_ERR_TYPE);
  }
  return call.begin(
      [&](coll_comm *coll, coll_request **started) {
        return call.form(coll_ibcast, coll_bcast_init)(data, bytes, COLL_BYTE, root, coll, started);
      },
      {.buffers = std::move(buffers)});
}

int start_reduce(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                 MPI_Comm comm, Target target) {
  StartCall call(ireduce, comm, count, datatype, target);
  Reduction reduction;
  Kept kept;
  if (!call.possible()) return call.impossible();
  if (count <= 0) return call.decline(why_not(count));
  if (!lasting_reduction_of(datatype, op, &reduction, &kept.operation)) return call.decline(Why::reduction);
  if (!call.join(root)) return call.result();
  const void *from = send;
  const bool right = call.rank() == root ? recv != nullptr && recv != MPI_IN_PLACE && sends_from(send, recv, &from)
                                         : send != nullptr && send != MPI_IN_PLACE;
  if (!right) return call.decline(Why::arguments);
  const auto elements = static_cast<std::size_t>(count);
  if (!take_from_devices(call, &from, elements, &recv, call.rank() == root ? elements : 0, datatype, &kept))
    return call.fail(COLL_ERR_NO_MEMORY);
  return call.begin(
      [&](coll_comm *coll, coll_request **started) {
        return call.form(coll_ireduce, coll_reduce_init)(from, recv, elements, reduction.type, reduction.op, root, coll,
                                                         started);
      },
      std::move(kept));
}

int start_allreduce(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                    Target target) {
  return start_reduction<coll_iallreduce, coll_allreduce_init>(iallreduce, send, recv, count, datatype, op, comm,
                                                               target);
}

int start_reduce_scatter_block(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                               MPI_Comm comm, Target target) {
  return start_reduction<coll_ireduce_scatter_block, coll_reduce_scatter_block_init>(ireduce_scatter_block, send, recv,
                                                                                     count, datatype, op, comm, target);
}

int start_scan(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
               Target target) {
  return start_reduction<coll_iscan, coll_scan_init>(iscan, send, recv, count, datatype, op, comm, target);
}

int start_exscan(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                 Target target) {
  return start_reduction<coll_iexscan, coll_exscan_init>(iexscan, send, recv, count, datatype, op, comm, target);
}

int start_reduce_scatter(const void *send, void *recv, const int *counts, MPI_Datatype datatype, MPI_Op op,
                         MPI_Comm comm, Target target) {
  return reduce_scatter_of(send, recv, counts, datatype, op, comm, target);
}

int start_reduce_scatter(const void *send, void *recv, const MPI_Count *counts, MPI_Datatype datatype, MPI_Op op,
                         MPI_Comm comm, Target target) {
  return reduce_scatter_of(send, recv, counts, datatype, op, comm, target);
}

}  // namespace coll::shim
