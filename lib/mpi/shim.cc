// SPDX-License-Identifier: BSD-3-Clause
//
// The entry points. Each decides whether to take the call or to pass it on, and the decision depends only on
// what MPI makes equal at all ranks: README.md gives the argument for each. Arguments that are wrong are passed
// on before anything collective happens, for the library below to complain about.
#include "mpi/below.h"
#include "mpi/communicators.h"
#include "mpi/datatypes.h"
#include "mpi/errors.h"
#include "mpi/operations.h"
#include "mpi/packing.h"

#include <climits>
#include <cstddef>
#include <new>

using namespace coll::shim;

namespace {

// How a call on `comm` goes on: `taken`, or on to `next` in the library below.
struct Way {
  Communicator *communicator;
  coll_status status;  // not OK: there was no memory to find out
  bool taken;
};

// A communicator that is known to be passed on, and whoever calls outside MPI_Init ... MPI_Finalize, needs no
// look at the arguments.
bool may_take(Communicator *communicator) {
  return communicator != nullptr ? communicator->coll != nullptr : prepare();
}

Way choose(Communicator *communicator, MPI_Comm comm, int root) {
  if (communicator == nullptr) {
    try {
      communicator = acquire(comm, root);
    } catch (const std::bad_alloc &) { return {nullptr, COLL_ERR_NO_MEMORY, false}; }
  }
  const bool taken =
      communicator != nullptr && communicator->coll != nullptr && root >= 0 && root < communicator->ranks;
  return {communicator, COLL_OK, taken};
}

const Below::Next &pass_on(Communicator *communicator, Collective collective) {
  count_passed(communicator, collective);
  return below().next;
}

coll_status bcast_bytes(void *buffer, std::size_t bytes, int root, Communicator *communicator) {
  return coll_bcast(buffer, bytes, COLL_BYTE, root, communicator->coll);
}

// MPI counts packed bytes in an int; longer broadcasts are passed on, so `bytes` fits.
coll_status bcast_packed(void *buffer, int count, MPI_Datatype datatype, std::size_t bytes, int root,
                         Communicator *communicator) {
  char *packed = communicator->packing_space(bytes);
  if (packed == nullptr) return COLL_ERR_NO_MEMORY;
  const bool is_root = communicator->rank == root;
  if (is_root && !pack(buffer, count, datatype, packed, bytes)) return COLL_ERR_TYPE;
  const coll_status status = bcast_bytes(packed, bytes, root, communicator);
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

}  // namespace

extern "C" {

#pragma GCC visibility push(default)

int MPI_Barrier(MPI_Comm comm) {
  Communicator *communicator = recent(comm);
  if (may_take(communicator)) {
    const Way way = choose(communicator, comm, 0);
    if (way.status != COLL_OK) return finish(comm, way.status);
    communicator = way.communicator;
    if (way.taken) {
      communicator->tally.taken[barrier]++;
      return finish(comm, coll_barrier(communicator->coll));
    }
  }
  return pass_on(communicator, barrier).Barrier(comm);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  Communicator *communicator = recent(comm);
  if (count > 0 && buffer != MPI_IN_PLACE && may_take(communicator)) {
    const Datatype *element = datatype_of(datatype);
    const std::size_t bytes = element != nullptr ? static_cast<std::size_t>(count) * element->size_bytes : 0;
    const bool in_order = bytes > 0 && element->in_order(count);
    if (bytes > 0 && bytes <= INT_MAX && (buffer != nullptr || !in_order)) {
      const Way way = choose(communicator, comm, root);
      if (way.status != COLL_OK) return finish(comm, way.status);
      communicator = way.communicator;
      if (way.taken) {
        communicator->tally.taken[bcast]++;
        return finish(comm, in_order ? bcast_bytes(buffer, bytes, root, communicator)
                                     : bcast_packed(buffer, count, datatype, bytes, root, communicator));
      }
    }
  }
  return pass_on(communicator, bcast).Bcast(buffer, count, datatype, root, comm);
}

int MPI_Reduce(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm) {
  Communicator *communicator = recent(comm);
  Reduction reduction;
  if (count > 0 && may_take(communicator) && reduction_of(datatype, op, &reduction)) {
    const Way way = choose(communicator, comm, root);
    if (way.status != COLL_OK) return finish(comm, way.status);
    communicator = way.communicator;
    const void *from = send;
    if (way.taken &&
        (communicator->rank == root ? recv != nullptr && recv != MPI_IN_PLACE && sends_from(send, recv, &from)
                                    : send != nullptr && send != MPI_IN_PLACE)) {
      communicator->tally.taken[reduce]++;
      return finish(comm, coll_reduce(from, recv, static_cast<std::size_t>(count), reduction.type, reduction.op, root,
                                      communicator->coll));
    }
  }
  return pass_on(communicator, reduce).Reduce(send, recv, count, datatype, op, root, comm);
}

int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  Communicator *communicator = recent(comm);
  Reduction reduction;
  const void *from;
  if (count > 0 && recv != nullptr && recv != MPI_IN_PLACE && may_take(communicator) && sends_from(send, recv, &from) &&
      reduction_of(datatype, op, &reduction)) {
    const Way way = choose(communicator, comm, 0);
    if (way.status != COLL_OK) return finish(comm, way.status);
    communicator = way.communicator;
    if (way.taken) {
      communicator->tally.taken[allreduce]++;
      return finish(comm, coll_allreduce(from, recv, static_cast<std::size_t>(count), reduction.type, reduction.op,
                                         communicator->coll));
    }
  }
  return pass_on(communicator, allreduce).Allreduce(send, recv, count, datatype, op, comm);
}

int MPI_Op_create(MPI_User_function *function, int commute, MPI_Op *op) {
  const int result = below().next.Op_create(function, commute, op);
  if (result == MPI_SUCCESS) remember_operation(*op, function, commute);
  return result;
}

int MPI_Op_free(MPI_Op *op) {
  const bool named = op != nullptr;
  const MPI_Op handle = named ? *op : MPI_Op{};
  const int result = below().next.Op_free(op);
  if (result == MPI_SUCCESS && named) forget_operation(handle);
  return result;
}

int MPI_Finalize(void) {
  shut_down();
  return below().next.Finalize();
}

#pragma GCC visibility pop

}  // extern "C"
