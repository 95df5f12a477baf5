// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/intercept.h"

#include "mpi/arguments.h"
#include "mpi/datatypes.h"
#include "mpi/devices.h"
#include "mpi/host_copy.h"
#include "mpi/operations.h"
#include "mpi/packing.h"
#include "mpi/padding.h"
#include "mpi/two_level.h"

#include <climits>
#include <cstddef>
#include <memory>
#include <new>

namespace coll::shim {
namespace {

int bcast_bytes(void *buffer, std::size_t bytes, int root, Call &call) {
  return call.carry_out([&](coll_comm *coll) { return of_rooted(coll_bcast(buffer, bytes, COLL_BYTE, root, coll)); },
                        [&](Nodes &nodes) { two_level::bcast(nodes, buffer, bytes, root); });
}

int bcast_packed(char *buffer, MPI_Count count, MPI_Datatype datatype, const Datatype &element, std::size_t bytes,
                 int root, Call &call) {
  char *packed = call.communicator().packing_space(bytes);
  if (packed == nullptr) return call.finish(COLL_ERR_NO_MEMORY);
  const bool is_root = call.rank() == root;
  if (is_root && !pack_elements(buffer, count, datatype, element, packed)) return call.finish(COLL_ERR_TYPE);
  const int result = bcast_bytes(packed, bytes, root, call);
  if (result == MPI_SUCCESS && !is_root && !unpack_elements(packed, buffer, count, datatype, element))
    return call.fail(COLL_ERR_TYPE);
  return result;
}

// The input of two_level's reductions, which have no value for in place.
const void *input_of(const void *from, const void *recv) { return from == COLL_IN_PLACE ? recv : from; }

// Performs a reduction by perform(from, recv), which returns the value of the MPI call; `inputs` elements are read and
// `outputs` are written.
template <typename Perform>
int reduce_in_host_memory(Call &call, const Reduction &reduction, const void *from, std::size_t inputs, void *recv,
                          std::size_t outputs, Perform perform) {
  if (!reduction.padded) [[likely]]
    return perform(from, recv);
  return reduce_padded(call, reduction, from, inputs, recv, outputs, perform);
}

template <typename Perform>
[[gnu::noinline]] int reduce_near_devices(Call &call, const Reduction &reduction, const void *from, std::size_t inputs,
                                          void *recv, std::size_t outputs, Perform perform) try {
  const ReductionCopies copies(from, inputs, recv, outputs, reduction.datatype);
  if (!copies.load()) return call.finish(COLL_ERR_BUFFER);
  const int result = reduce_in_host_memory(call, reduction, copies.from(), inputs, copies.recv(), outputs, perform);
  return result == MPI_SUCCESS && !copies.store() ? call.fail(COLL_ERR_BUFFER) : result;
} catch (const std::bad_alloc &) { return call.finish(COLL_ERR_NO_MEMORY); }

template <typename Perform>
int reduce_anywhere(Call &call, const Reduction &reduction, const void *from, std::size_t inputs, void *recv,
                    std::size_t outputs, Perform perform) {
  if (has_devices) [[unlikely]]
    return reduce_near_devices(call, reduction, from, inputs, recv, outputs, perform);
  return reduce_in_host_memory(call, reduction, from, inputs, recv, outputs, perform);
}

// A reduction with the same count and a receive buffer on every rank: on one node, and in two levels.
using Whole = coll_status(const void *, void *, std::size_t, coll_datatype, coll_op, coll_comm *);
using Levels = void(Nodes &, const void *, void *, std::size_t, const Reduction &);

// `is_possible(nodes, reduction)`: whether the reduction can run in two levels.
template <Whole whole, Levels levels, typename IsPossible>
int intercept_reduction(Collective collective, IsPossible is_possible, const void *send, void *recv, MPI_Count count,
                        MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  Call call(collective, comm, count, datatype);
  Reduction reduction;
  const void *from;
  if (!call.possible()) return call.impossible();
  if (count <= 0) return call.decline(why_not(count));
  // Rank 0 of an exscan may pass no receive buffer; only the communicator knows which rank this is.
  const bool no_result = recv == nullptr && collective == exscan && send != MPI_IN_PLACE;
  if ((recv == nullptr && !no_result) || recv == MPI_IN_PLACE || !sends_from(send, recv, &from))
    return call.decline(Why::arguments);
  if (!reduction_of(datatype, op, &reduction)) return call.decline(Why::reduction);
  if (!call.join(0)) return call.result();
  if (too_long(reduction, static_cast<std::size_t>(count))) return call.decline(Why::reduction);
  if (no_result && call.rank() != 0) return call.decline(Why::arguments);
  if (call.nodes() != nullptr && !is_possible(*call.nodes(), reduction)) return call.decline(Why::nodes);
  const auto elements = static_cast<std::size_t>(count);
  const auto perform = [&](const void *from, void *recv) {
    return call.carry_out(
        [&](coll_comm *coll) { return whole(from, recv, elements, reduction.type, reduction.op, coll); },
        [&](Nodes &nodes) { levels(nodes, input_of(from, recv), recv, elements, reduction); });
  };
  const auto ranks = static_cast<std::size_t>(call.ranks());
  const std::size_t inputs = collective == reduce_scatter_block ? ranks * elements : elements;
  return reduce_anywhere(call, reduction, from, inputs, recv, collective == exscan && call.rank() == 0 ? 0 : elements,
                         perform);
}

void reduce_scatter_equal(Nodes &nodes, const void *send, void *recv, std::size_t count, const Reduction &reduction) {
  two_level::reduce_scatter(nodes, send, recv, {count}, reduction);
}

// The root's part of a reduction if it has no receive buffer: it serves the peers, and the MPI library reports the
// error.
[[gnu::noinline]] int reduce_to_nothing(Call &call, const void *send, std::size_t count, const Reduction &reduction,
                                        int root) {
  if (send == nullptr || send == MPI_IN_PLACE) return call.decline(Why::arguments);
  const std::unique_ptr<char[]> room(new (std::nothrow) char[count * reduction.element_bytes]);
  if (room == nullptr) return call.finish(COLL_ERR_NO_MEMORY);
  const auto perform = [&](const void *from, void *recv) {
    return call.carry_out(
        [&](coll_comm *coll) { return coll_reduce(from, recv, count, reduction.type, reduction.op, root, coll); },
        [&](Nodes &nodes) { two_level::reduce(nodes, from, recv, count, reduction, root); });
  };
  const int result = reduce_anywhere(call, reduction, send, count, room.get(), count, perform);
  return result != MPI_SUCCESS ? result : not_intercepted;
}

bool can_scan(const Nodes &nodes, const Reduction &) { return two_level::can_scan(nodes); }

template <typename Count>
int reduce_scatter_of(const void *send, void *recv, const Count *counts, MPI_Datatype datatype, MPI_Op op,
                      MPI_Comm comm) {
  Call call(reduce_scatter, comm, -1, datatype);
  Reduction reduction;
  const void *from;
  if (!call.possible()) return call.impossible();
  // A rank with a count of 0 may have no receive buffer.
  if (counts == nullptr || recv == MPI_IN_PLACE || !sends_from(send, recv, &from)) return call.decline(Why::arguments);
  if (!reduction_of(datatype, op, &reduction)) return call.decline(Why::reduction);
  if (!call.join(0)) return call.result();
  std::size_t *numbers = call.communicator().number_space();
  if (numbers == nullptr) return call.finish(COLL_ERR_NO_MEMORY);
  std::size_t *displs = numbers + call.ranks();
  std::size_t all = 0;
  for (int i = 0; i < call.ranks(); i++) {
    if (counts[i] < 0) return call.decline(Why::arguments);
    numbers[i] = static_cast<std::size_t>(counts[i]);
    displs[i] = all;
    all += numbers[i];
  }
  if (all == 0) return call.decline(Why::empty);
  if (too_long(reduction, all)) return call.decline(Why::reduction);
  const two_level::Blocks blocks{0, numbers, displs};
  if (call.nodes() != nullptr && !two_level::can_reduce_scatter(*call.nodes(), blocks, reduction))
    return call.decline(Why::nodes);
  const auto perform = [&](const void *from, void *recv) {
    return call.carry_out(
        [&](coll_comm *coll) { return coll_reduce_scatter(from, recv, numbers, reduction.type, reduction.op, coll); },
        [&](Nodes &nodes) { two_level::reduce_scatter(nodes, input_of(from, recv), recv, blocks, reduction); });
  };
  return reduce_anywhere(call, reduction, from, all, recv, numbers[call.rank()], perform);
}

}  // namespace

int intercept_barrier(MPI_Comm comm) {
  Call call(barrier, comm, 0, {});
  if (!call.possible()) return call.impossible();
  if (!call.join(0)) return call.result();
  flush_sends();
  return call.carry_out(coll_barrier, two_level::barrier);
}

int intercept_bcast(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  Call call(bcast, comm, count, datatype);
  if (!call.possible()) return call.impossible();
  if (count <= 0 || buffer == MPI_IN_PLACE) return call.decline(why_not(count));
  const Datatype *element = datatype_of(datatype);
  if (element == nullptr) return call.decline(Why::datatype);
  const std::size_t bytes = static_cast<std::size_t>(count) * element->size_bytes;
  const bool in_order = element->in_order(count);
  if (bytes == 0) return call.decline(Why::empty);
  if (bytes > INT_MAX) return call.decline(Why::size);
  if (buffer == nullptr && in_order) return call.decline(Why::arguments);
  if (!call.join(root)) return call.result();
  if (in_order && !in_device(buffer)) return bcast_bytes(buffer, bytes, root, call);
  return bcast_packed(static_cast<char *>(buffer), count, datatype, *element, bytes, root, call);
}

int intercept_reduce(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                     MPI_Comm comm) {
  Call call(reduce, comm, count, datatype);
  Reduction reduction;
  if (!call.possible()) return call.impossible();
  if (count <= 0) return call.decline(why_not(count));
  if (!reduction_of(datatype, op, &reduction)) return call.decline(Why::reduction);
  if (!call.join(root)) return call.result();
  if (too_long(reduction, static_cast<std::size_t>(count))) return call.decline(Why::reduction);
  if (call.nodes() != nullptr && !two_level::can_reduce(*call.nodes(), reduction)) return call.decline(Why::nodes);
  const void *from = send;
  const bool right = call.rank() == root ? recv != nullptr && recv != MPI_IN_PLACE && sends_from(send, recv, &from)
                                         : send != nullptr && send != MPI_IN_PLACE;
  const auto elements = static_cast<std::size_t>(count);
  if (!right) [[unlikely]] {
    // MPICH reports equal buffers before it communicates, and a program may then make the call correctly.
    const bool lacks_result = call.rank() == root && (recv == nullptr || recv == MPI_IN_PLACE);
    return lacks_result ? reduce_to_nothing(call, send, elements, reduction, root) : call.decline(Why::arguments);
  }
  const auto perform = [&](const void *from, void *recv) {
    return call.carry_out(
        [&](coll_comm *coll) { return coll_reduce(from, recv, elements, reduction.type, reduction.op, root, coll); },
        [&](Nodes &nodes) { two_level::reduce(nodes, input_of(from, recv), recv, elements, reduction, root); });
  };
  return reduce_anywhere(call, reduction, from, elements, recv, call.rank() == root ? elements : 0, perform);
}

int intercept_allreduce(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                        MPI_Comm comm) {
  return intercept_reduction<coll_allreduce, two_level::allreduce>(allreduce, two_level::can_reduce, send, recv, count,
                                                                   datatype, op, comm);
}

int intercept_reduce_scatter_block(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                                   MPI_Comm comm) {
  const auto is_possible = [count](const Nodes &nodes, const Reduction &reduction) {
    return two_level::can_reduce_scatter(nodes, {static_cast<std::size_t>(count)}, reduction);
  };
  return intercept_reduction<coll_reduce_scatter_block, reduce_scatter_equal>(reduce_scatter_block, is_possible, send,
                                                                              recv, count, datatype, op, comm);
}

int intercept_scan(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return intercept_reduction<coll_scan, two_level::scan>(scan, can_scan, send, recv, count, datatype, op, comm);
}

int intercept_exscan(const void *send, void *recv, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return intercept_reduction<coll_exscan, two_level::exscan>(exscan, can_scan, send, recv, count, datatype, op, comm);
}

int intercept_reduce_scatter(const void *send, void *recv, const int *counts, MPI_Datatype datatype, MPI_Op op,
                             MPI_Comm comm) {
  return reduce_scatter_of(send, recv, counts, datatype, op, comm);
}

int intercept_reduce_scatter(const void *send, void *recv, const MPI_Count *counts, MPI_Datatype datatype, MPI_Op op,
                             MPI_Comm comm) {
  return reduce_scatter_of(send, recv, counts, datatype, op, comm);
}

}  // namespace coll::shim
