// SPDX-License-Identifier: BSD-3-Clause
//
// The Fortran entry points of blocking collectives and other calls, where the library's own Fortran functions do not
// call those of C.
#include "mpi/fortran.h"

#include "mpi/ending.h"
#include "mpi/intercept.h"
#include "mpi/library.h"
#include "mpi/memory.h"
#include "mpi/operations.h"
#include "mpi/presence.h"
#include "mpi/probing.h"
#include "mpi/world_ranks.h"

using namespace coll::shim;

namespace {

// Forwards the call and returns whether it succeeded, also if the caller has passed no ierror.
template <typename Next, typename... Arguments>
bool succeeds(Next next, Int *ierror, Arguments... arguments) {
  Int error = MPI_SUCCESS;
  next(arguments..., &error);
  if (ierror != nullptr) *ierror = error;
  return error == MPI_SUCCESS;
}

template <typename Next>
void op_create(Next next, void (*function)(), Int *commute, Int *op, Int *ierror) {
  if (succeeds(next, ierror, function, commute, op))
    add_operation(op_of(op), reinterpret_cast<MPI_User_function *>(function), *commute, Language::fortran);
}

template <typename Next>
void op_free(Next next, Int *op, Int *ierror) {
  const MPI_Op handle = op_of(op);
  if (succeeds(next, ierror, op)) remove_operation(handle);
}

// MPI_IPROBE, MPI_IMPROBE and MPI_WIN_TEST. In every compiler .false. is 0.
template <typename Next, typename... Arguments>
void poll(Since kind, Next next, const Int *flag, Int *ierror, Arguments... arguments) {
  const Int error = coll::shim::poll(kind, flag, [&] {
    Int code = MPI_SUCCESS;
    next(arguments..., &code);
    return code;
  });
  if (ierror != nullptr) *ierror = error;
}

// MPI_COMM_FREE and MPI_COMM_DISCONNECT.
template <typename Next>
void comm_end(Next next, Int *comm, Int *ierror) {
  const Ending ending(comm_of(comm));
  next(comm, ierror);
}

template <typename Next>
void intercomm_merge(Next next, Int *inter, Int *high, Int *merged, Int *ierror) {
  if (succeeds(next, ierror, inter, high, merged)) note_merge(comm_of(merged));
}

// MPICH's MPI_INIT may call MPI_Init, which has already called start_up() then.
template <typename Next, typename... Arguments>
void init(Next next, Int *ierror, Arguments... arguments) {
  announce_presence();
  if (succeeds(next, ierror, arguments...)) start_up();
}

template <typename Next>
void finalize(Next next, Int *ierror) {
  shut_down();
  next(ierror);
  end_presence();
}

}  // namespace

COLL_FORTRAN_WITHOUT_BUFFER(barrier, BARRIER, (Int * comm, Int *ierror),
                            finish_or_forward(intercept_barrier(comm_of(comm)), next, ierror, comm))

COLL_FORTRAN_WITH_BUFFER(bcast, BCAST, (void *buffer, Int *count, Int *type, Int *root, Int *comm, Int *ierror),
                         finish_or_forward(intercept_bcast(address(buffer), *count, type_of(type), *root,
                                                           comm_of(comm)),
                                           next, ierror, buffer, count, type, root, comm))

COLL_FORTRAN_WITH_BUFFER(reduce, REDUCE,
                         (void *send, void *recv, Int *count, Int *type, Int *op, Int *root, Int *comm, Int *ierror),
                         finish_or_forward(intercept_reduce(address(send), address(recv), *count, type_of(type),
                                                            op_of(op), *root, comm_of(comm)),
                                           next, ierror, send, recv, count, type, op, root, comm))

COLL_FORTRAN_WITH_BUFFER(allreduce, ALLREDUCE,
                         (void *send, void *recv, Int *count, Int *type, Int *op, Int *comm, Int *ierror),
                         finish_or_forward(intercept_allreduce(address(send), address(recv), *count, type_of(type),
                                                               op_of(op), comm_of(comm)),
                                           next, ierror, send, recv, count, type, op, comm))

COLL_FORTRAN_WITH_BUFFER(reduce_scatter, REDUCE_SCATTER,
                         (void *send, void *recv, Int *counts, Int *type, Int *op, Int *comm, Int *ierror),
                         finish_or_forward(intercept_reduce_scatter(address(send), address(recv), counts, type_of(type),
                                                                    op_of(op), comm_of(comm)),
                                           next, ierror, send, recv, counts, type, op, comm))

COLL_FORTRAN_WITH_BUFFER(reduce_scatter_block, REDUCE_SCATTER_BLOCK,
                         (void *send, void *recv, Int *count, Int *type, Int *op, Int *comm, Int *ierror),
                         finish_or_forward(intercept_reduce_scatter_block(address(send), address(recv), *count,
                                                                          type_of(type), op_of(op), comm_of(comm)),
                                           next, ierror, send, recv, count, type, op, comm))

COLL_FORTRAN_WITH_BUFFER(scan, SCAN, (void *send, void *recv, Int *count, Int *type, Int *op, Int *comm, Int *ierror),
                         finish_or_forward(intercept_scan(address(send), address(recv), *count, type_of(type),
                                                          op_of(op), comm_of(comm)),
                                           next, ierror, send, recv, count, type, op, comm))

COLL_FORTRAN_WITH_BUFFER(exscan, EXSCAN,
                         (void *send, void *recv, Int *count, Int *type, Int *op, Int *comm, Int *ierror),
                         finish_or_forward(intercept_exscan(address(send), address(recv), *count, type_of(type),
                                                            op_of(op), comm_of(comm)),
                                           next, ierror, send, recv, count, type, op, comm))

COLL_FORTRAN_WITH_BUFFER(gather, GATHER,
                         (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type,
                          Int *root, Int *comm, Int *ierror),
                         finish_or_forward(intercept_gather(address(send), *send_count, type_of(send_type),
                                                            address(recv), *recv_count, type_of(recv_type), *root,
                                                            comm_of(comm)),
                                           next, ierror, send, send_count, send_type, recv, recv_count, recv_type, root,
                                           comm))

COLL_FORTRAN_WITH_BUFFER(gatherv, GATHERV,
                         (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_counts, Int *displs,
                          Int *recv_type, Int *root, Int *comm, Int *ierror),
                         finish_or_forward(intercept_gatherv(address(send), *send_count, type_of(send_type),
                                                             address(recv), recv_counts, displs, type_of(recv_type),
                                                             *root, comm_of(comm)),
                                           next, ierror, send, send_count, send_type, recv, recv_counts, displs,
                                           recv_type, root, comm))

COLL_FORTRAN_WITH_BUFFER(scatter, SCATTER,
                         (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type,
                          Int *root, Int *comm, Int *ierror),
                         finish_or_forward(intercept_scatter(address(send), *send_count, type_of(send_type),
                                                             address(recv), *recv_count, type_of(recv_type), *root,
                                                             comm_of(comm)),
                                           next, ierror, send, send_count, send_type, recv, recv_count, recv_type, root,
                                           comm))

COLL_FORTRAN_WITH_BUFFER(scatterv, SCATTERV,
                         (void *send, Int *send_counts, Int *displs, Int *send_type, void *recv, Int *recv_count,
                          Int *recv_type, Int *root, Int *comm, Int *ierror),
                         finish_or_forward(intercept_scatterv(address(send), send_counts, displs, type_of(send_type),
                                                              address(recv), *recv_count, type_of(recv_type), *root,
                                                              comm_of(comm)),
                                           next, ierror, send, send_counts, displs, send_type, recv, recv_count,
                                           recv_type, root, comm))

COLL_FORTRAN_WITH_BUFFER(
    allgather, ALLGATHER,
    (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type, Int *comm, Int *ierror),
    finish_or_forward(intercept_allgather(address(send), *send_count, type_of(send_type), address(recv), *recv_count,
                                          type_of(recv_type), comm_of(comm)),
                      next, ierror, send, send_count, send_type, recv, recv_count, recv_type, comm))

COLL_FORTRAN_WITH_BUFFER(allgatherv, ALLGATHERV,
                         (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_counts, Int *displs,
                          Int *recv_type, Int *comm, Int *ierror),
                         finish_or_forward(intercept_allgatherv(address(send), *send_count, type_of(send_type),
                                                                address(recv), recv_counts, displs, type_of(recv_type),
                                                                comm_of(comm)),
                                           next, ierror, send, send_count, send_type, recv, recv_counts, displs,
                                           recv_type, comm))

COLL_FORTRAN_WITH_BUFFER(
    alltoall, ALLTOALL,
    (void *send, Int *send_count, Int *send_type, void *recv, Int *recv_count, Int *recv_type, Int *comm, Int *ierror),
    finish_or_forward(intercept_alltoall(address(send), *send_count, type_of(send_type), address(recv), *recv_count,
                                         type_of(recv_type), comm_of(comm)),
                      next, ierror, send, send_count, send_type, recv, recv_count, recv_type, comm))

COLL_FORTRAN_WITH_BUFFER(alltoallv, ALLTOALLV,
                         (void *send, Int *send_counts, Int *send_displs, Int *send_type, void *recv, Int *recv_counts,
                          Int *recv_displs, Int *recv_type, Int *comm, Int *ierror),
                         finish_or_forward(intercept_alltoallv(address(send), send_counts, send_displs,
                                                               type_of(send_type), address(recv), recv_counts,
                                                               recv_displs, type_of(recv_type), comm_of(comm)),
                                           next, ierror, send, send_counts, send_displs, send_type, recv, recv_counts,
                                           recv_displs, recv_type, comm))

// `base` is where the pointer is stored: an integer or a TYPE(C_PTR), for which Open MPI has a separate symbol.
COLL_FORTRAN_WITHOUT_BUFFER(alloc_mem, ALLOC_MEM, (MPI_Aint * bytes, Int *info, void *base, Int *ierror),
                            finish_or_forward(intercept_alloc_mem(*bytes, *info != info_null, base), next, ierror,
                                              bytes, info, base))
#ifdef OPEN_MPI
COLL_FORTRAN_WITHOUT_BUFFER(alloc_mem_cptr, ALLOC_MEM_CPTR, (MPI_Aint * bytes, Int *info, void *base, Int *ierror),
                            finish_or_forward(intercept_alloc_mem(*bytes, *info != info_null, base), next, ierror,
                                              bytes, info, base))
#endif

COLL_FORTRAN_WITH_BUFFER(free_mem, FREE_MEM, (void *base, Int *ierror),
                         finish_or_forward(intercept_free_mem(base), next, ierror, base))

COLL_FORTRAN_WITHOUT_BUFFER(op_create, OP_CREATE, (void (*function)(), Int *commute, Int *op, Int *ierror),
                            op_create(next, function, commute, op, ierror))

COLL_FORTRAN_WITHOUT_BUFFER(op_free, OP_FREE, (Int * op, Int *ierror), op_free(next, op, ierror))

COLL_FORTRAN_WITHOUT_BUFFER(iprobe, IPROBE, (Int * source, Int *tag, Int *comm, Int *flag, Int *status, Int *ierror),
                            poll(since_probe, next, flag, ierror, source, tag, comm, flag, status))

COLL_FORTRAN_WITHOUT_BUFFER(improbe, IMPROBE,
                            (Int * source, Int *tag, Int *comm, Int *flag, Int *message, Int *status, Int *ierror),
                            poll(since_probe, next, flag, ierror, source, tag, comm, flag, message, status))

COLL_FORTRAN_WITHOUT_BUFFER(win_test, WIN_TEST, (Int * window, Int *flag, Int *ierror),
                            poll(since_window_test, next, flag, ierror, window, flag))

#define COLL_FORTRAN_SEND(name, NAME, note)                                                                       \
  COLL_FORTRAN_WITH_BUFFER(                                                                                       \
      name, NAME, (void *buffer, Int *count, Int *type, Int *to, Int *tag, Int *comm, Int *request, Int *ierror), \
      note();                                                                                                     \
      next(buffer, count, type, to, tag, comm, request, ierror))
COLL_FORTRAN_SEND(isend, ISEND, note_sent)
COLL_FORTRAN_SEND(issend, ISSEND, note_sent)
COLL_FORTRAN_SEND(irsend, IRSEND, note_sent)
COLL_FORTRAN_SEND(ibsend, IBSEND, note_buffered_send)
COLL_FORTRAN_WITH_BUFFER(bsend, BSEND, (void *buffer, Int *count, Int *type, Int *to, Int *tag, Int *comm, Int *ierror),
                         note_buffered_send();
                         next(buffer, count, type, to, tag, comm, ierror))

COLL_FORTRAN_WITHOUT_BUFFER(comm_free, COMM_FREE, (Int * comm, Int *ierror), comm_end(next, comm, ierror))

COLL_FORTRAN_WITHOUT_BUFFER(comm_disconnect, COMM_DISCONNECT, (Int * comm, Int *ierror), comm_end(next, comm, ierror))

COLL_FORTRAN_WITHOUT_BUFFER(intercomm_merge, INTERCOMM_MERGE, (Int * inter, Int *high, Int *merged, Int *ierror),
                            intercomm_merge(next, inter, high, merged, ierror))

COLL_FORTRAN_WITHOUT_BUFFER(init, INIT, (Int * ierror), init(next, ierror))

COLL_FORTRAN_WITHOUT_BUFFER(init_thread, INIT_THREAD, (Int * required, Int *provided, Int *ierror),
                            init(next, ierror, required, provided))

COLL_FORTRAN_WITHOUT_BUFFER(finalize, FINALIZE, (Int * ierror), finalize(next, ierror))
