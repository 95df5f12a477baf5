// SPDX-License-Identifier: BSD-3-Clause
//
// The C entry points of blocking collectives and other calls.
#include "mpi/ending.h"
#include "mpi/intercept.h"
#include "mpi/library.h"
#include "mpi/memory.h"
#include "mpi/operations.h"
#include "mpi/presence.h"
#include "mpi/probing.h"
#include "mpi/world_ranks.h"

using namespace coll::shim;

extern "C" {

#pragma GCC visibility push(default)

int MPI_Barrier(MPI_Comm comm) {
  const int result = intercept_barrier(comm);
  return result != not_intercepted ? result : forward(mpi_library().next.Barrier, comm);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  const int result = intercept_bcast(buffer, count, datatype, root, comm);
  return result != not_intercepted ? result : forward(mpi_library().next.Bcast, buffer, count, datatype, root, comm);
}

int MPI_Reduce(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm) {
  const int result = intercept_reduce(send, recv, count, datatype, op, root, comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Reduce, send, recv, count, datatype, op, root, comm);
}

int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  const int result = intercept_allreduce(send, recv, count, datatype, op, comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Allreduce, send, recv, count, datatype, op, comm);
}

int MPI_Reduce_scatter(const void *send, void *recv, const int *counts, MPI_Datatype datatype, MPI_Op op,
                       MPI_Comm comm) {
  const int result = intercept_reduce_scatter(send, recv, counts, datatype, op, comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Reduce_scatter, send, recv, counts, datatype, op, comm);
}

int MPI_Reduce_scatter_block(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  const int result = intercept_reduce_scatter_block(send, recv, count, datatype, op, comm);
  return result != not_intercepted
             ? result
             : forward(mpi_library().next.Reduce_scatter_block, send, recv, count, datatype, op, comm);
}

int MPI_Scan(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  const int result = intercept_scan(send, recv, count, datatype, op, comm);
  return result != not_intercepted ? result : forward(mpi_library().next.Scan, send, recv, count, datatype, op, comm);
}

int MPI_Exscan(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  const int result = intercept_exscan(send, recv, count, datatype, op, comm);
  return result != not_intercepted ? result : forward(mpi_library().next.Exscan, send, recv, count, datatype, op, comm);
}

int MPI_Gather(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
               MPI_Datatype recv_type, int root, MPI_Comm comm) {
  const int result = intercept_gather(send, send_count, send_type, recv, recv_count, recv_type, root, comm);
  return result != not_intercepted
             ? result
             : forward(mpi_library().next.Gather, send, send_count, send_type, recv, recv_count, recv_type, root, comm);
}

int MPI_Gatherv(const void *send, int send_count, MPI_Datatype send_type, void *recv, const int *recv_counts,
                const int *displs, MPI_Datatype recv_type, int root, MPI_Comm comm) {
  const int result = intercept_gatherv(send, send_count, send_type, recv, recv_counts, displs, recv_type, root, comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Gatherv, send, send_count, send_type, recv, recv_counts,
                                             displs, recv_type, root, comm);
}

int MPI_Scatter(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
                MPI_Datatype recv_type, int root, MPI_Comm comm) {
  const int result = intercept_scatter(send, send_count, send_type, recv, recv_count, recv_type, root, comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Scatter, send, send_count, send_type, recv, recv_count,
                                             recv_type, root, comm);
}

int MPI_Scatterv(const void *send, const int *send_counts, const int *displs, MPI_Datatype send_type, void *recv,
                 int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm) {
  const int result = intercept_scatterv(send, send_counts, displs, send_type, recv, recv_count, recv_type, root, comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Scatterv, send, send_counts, displs, send_type, recv,
                                             recv_count, recv_type, root, comm);
}

int MPI_Allgather(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
                  MPI_Datatype recv_type, MPI_Comm comm) {
  const int result = intercept_allgather(send, send_count, send_type, recv, recv_count, recv_type, comm);
  return result != not_intercepted
             ? result
             : forward(mpi_library().next.Allgather, send, send_count, send_type, recv, recv_count, recv_type, comm);
}

int MPI_Allgatherv(const void *send, int send_count, MPI_Datatype send_type, void *recv, const int *recv_counts,
                   const int *displs, MPI_Datatype recv_type, MPI_Comm comm) {
  const int result = intercept_allgatherv(send, send_count, send_type, recv, recv_counts, displs, recv_type, comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Allgatherv, send, send_count, send_type, recv,
                                             recv_counts, displs, recv_type, comm);
}

int MPI_Alltoall(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
                 MPI_Datatype recv_type, MPI_Comm comm) {
  const int result = intercept_alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm);
  return result != not_intercepted
             ? result
             : forward(mpi_library().next.Alltoall, send, send_count, send_type, recv, recv_count, recv_type, comm);
}

int MPI_Alltoallv(const void *send, const int *send_counts, const int *send_displs, MPI_Datatype send_type, void *recv,
                  const int *recv_counts, const int *recv_displs, MPI_Datatype recv_type, MPI_Comm comm) {
  const int result =
      intercept_alltoallv(send, send_counts, send_displs, send_type, recv, recv_counts, recv_displs, recv_type, comm);
  return result != not_intercepted ? result
                                   : forward(mpi_library().next.Alltoallv, send, send_counts, send_displs, send_type,
                                             recv, recv_counts, recv_displs, recv_type, comm);
}

int MPI_Alloc_mem(MPI_Aint bytes, MPI_Info info, void *base) {
  const int result = intercept_alloc_mem(bytes, info != mpi_library().info_null, base);
  return result != not_intercepted ? result : forward(mpi_library().next.Alloc_mem, bytes, info, base);
}

int MPI_Free_mem(void *base) {
  const int result = intercept_free_mem(base);
  return result != not_intercepted ? result : forward(mpi_library().next.Free_mem, base);
}

// A tool in front of the shim may call the library by this name, but the library must not get memory of the shim.
int PMPI_Free_mem(void *base) {
  const int result = intercept_free_mem(base);
  return result != not_intercepted ? result : mpi_library().own_free_mem(base);
}

int MPI_Op_create(MPI_User_function *function, int commute, MPI_Op *op) {
  const int result = mpi_library().next.Op_create(function, commute, op);
  if (result == MPI_SUCCESS) add_operation(*op, function, commute, Language::c);
  return result;
}

int MPI_Op_free(MPI_Op *op) {
  const bool named = op != nullptr;
  const MPI_Op handle = named ? *op : MPI_Op{};
  const int result = mpi_library().next.Op_free(op);
  if (result == MPI_SUCCESS && named) remove_operation(handle);
  return result;
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
  return poll(since_probe, flag, [&] { return mpi_library().next.Iprobe(source, tag, comm, flag, status); });
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status) {
  return poll(since_probe, flag, [&] { return mpi_library().next.Improbe(source, tag, comm, flag, message, status); });
}

int MPI_Win_test(MPI_Win window, int *flag) {
  return poll(since_window_test, flag, [&] { return mpi_library().next.Win_test(window, flag); });
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
  note_sent();
  return mpi_library().next.Isend(buffer, count, type, to, tag, comm, request);
}

int MPI_Issend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
  note_sent();
  return mpi_library().next.Issend(buffer, count, type, to, tag, comm, request);
}

int MPI_Irsend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
  note_sent();
  return mpi_library().next.Irsend(buffer, count, type, to, tag, comm, request);
}

int MPI_Ibsend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
  note_buffered_send();
  return mpi_library().next.Ibsend(buffer, count, type, to, tag, comm, request);
}

int MPI_Bsend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  note_buffered_send();
  return mpi_library().next.Bsend(buffer, count, type, to, tag, comm);
}

int MPI_Comm_free(MPI_Comm *comm) {
  const auto next = mpi_library().next.Comm_free;
  if (comm == nullptr) return next(comm);
  const Ending ending(*comm);
  return next(comm);
}

int MPI_Comm_disconnect(MPI_Comm *comm) {
  const auto next = mpi_library().next.Comm_disconnect;
  if (comm == nullptr) return next(comm);
  const Ending ending(*comm);
  return next(comm);
}

int MPI_Intercomm_merge(MPI_Comm inter, int high, MPI_Comm *merged) {
  const int result = mpi_library().next.Intercomm_merge(inter, high, merged);
  if (result == MPI_SUCCESS) note_merge(*merged);
  return result;
}

int MPI_Init(int *argc, char ***argv) {
  announce_presence();
  const int result = mpi_library().next.Init(argc, argv);
  if (result == MPI_SUCCESS) start_up();
  return result;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
  announce_presence();
  const int result = mpi_library().next.Init_thread(argc, argv, required, provided);
  if (result == MPI_SUCCESS) start_up();
  return result;
}

int MPI_Finalize(void) {
  shut_down();
  const int result = mpi_library().next.Finalize();
  end_presence();
  return result;
}

#pragma GCC visibility pop

}  // extern "C"
