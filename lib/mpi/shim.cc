// SPDX-License-Identifier: BSD-3-Clause
//
// The entry points of C.
#include "mpi/below.h"
#include "mpi/operations.h"
#include "mpi/take.h"

using namespace coll::shim;

extern "C" {

#pragma GCC visibility push(default)

int MPI_Barrier(MPI_Comm comm) {
  const int result = take_barrier(comm);
  return result != passed_on ? result : below().next.Barrier(comm);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  const int result = take_bcast(buffer, count, datatype, root, comm);
  return result != passed_on ? result : below().next.Bcast(buffer, count, datatype, root, comm);
}

int MPI_Reduce(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm) {
  const int result = take_reduce(send, recv, count, datatype, op, root, comm);
  return result != passed_on ? result : below().next.Reduce(send, recv, count, datatype, op, root, comm);
}

int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  const int result = take_allreduce(send, recv, count, datatype, op, comm);
  return result != passed_on ? result : below().next.Allreduce(send, recv, count, datatype, op, comm);
}

int MPI_Op_create(MPI_User_function *function, int commute, MPI_Op *op) {
  const int result = below().next.Op_create(function, commute, op);
  if (result == MPI_SUCCESS) remember_operation(*op, function, commute, Language::c);
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
