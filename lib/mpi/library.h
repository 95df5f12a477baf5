// SPDX-License-Identifier: BSD-3-Clause
// The functions of the underlying MPI library, and of other tools between it and the shim.
#pragma once

#include "mpi/handles.h"

namespace coll::shim {

// The entry points that the shim intercepts, as the next definition has them: another tool's, or the library's own.
// clang-format off
#define COLL_SHIM_INTERCEPTED(X)                                                                              \
  X(Barrier) X(Bcast) X(Reduce) X(Allreduce)                                                           \
  X(Reduce_scatter) X(Reduce_scatter_block) X(Scan) X(Exscan)                                          \
  X(Gather) X(Gatherv) X(Scatter) X(Scatterv) X(Allgather) X(Allgatherv) X(Alltoall) X(Alltoallv)      \
  X(Alloc_mem) X(Free_mem) X(Op_create) X(Op_free) X(Init) X(Init_thread) X(Finalize)                  \
  X(Comm_free) X(Comm_disconnect) X(Intercomm_merge)                                                   \
  X(Iprobe) X(Improbe) X(Win_test) X(Isend) X(Issend) X(Irsend) X(Ibsend) X(Bsend)                     \
  COLL_SHIM_INTERCEPTED_LARGE(X) COLL_SHIM_STARTED(X)                                                  \
  COLL_SHIM_EDGES(X) COLL_SHIM_WAITS(X) COLL_SHIM_PERSISTENT(X) COLL_SHIM_INITS_LARGE(X)

// The entry points of waits.h.
#define COLL_SHIM_WAITS(X)                                                                              \
  X(Wait) X(Waitall) X(Waitany) X(Waitsome) X(Test) X(Testall) X(Testany) X(Testsome)

// The entry points of persistent.h: these, and those of COLL_SHIM_INITS with "_init" appended. Open MPI 4.1 has the
// latter as an extension.
#define COLL_SHIM_PERSISTENT(X) X(Start) X(Startall) X(Request_free) X(Cancel)
#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_MAJOR_VERSION < 5
#define COLL_SHIM_INIT(name) MPIX_##name##_init
#define COLL_SHIM_PROFILED_INIT(name) PMPIX_##name##_init
#define COLL_SHIM_INIT_PREFIX "MPIX_"
#elif MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
#define COLL_SHIM_INIT(name) MPI_##name##_init
#define COLL_SHIM_PROFILED_INIT(name) PMPI_##name##_init
#define COLL_SHIM_INIT_PREFIX "MPI_"
#else
#define COLL_SHIM_INIT_PREFIX "MPI_"
#endif
#ifdef COLL_SHIM_INIT
#define COLL_SHIM_INITS(X)                                                                              \
  X(Barrier) X(Bcast) X(Reduce) X(Allreduce) X(Reduce_scatter) X(Reduce_scatter_block) X(Scan)         \
  X(Exscan) X(Gather) X(Gatherv) X(Scatter) X(Scatterv) X(Allgather) X(Allgatherv) X(Alltoall)         \
  X(Alltoallv) X(Alltoallw) X(Neighbor_allgather) X(Neighbor_allgatherv) X(Neighbor_alltoall)          \
  X(Neighbor_alltoallv) X(Neighbor_alltoallw)
#else
#define COLL_SHIM_INITS(X)
#endif
#if defined(COLL_SHIM_INIT) && MPI_VERSION >= 4
#define COLL_SHIM_INITS_LARGE(X)                                                                        \
  X(Bcast_init_c) X(Reduce_init_c) X(Allreduce_init_c) X(Reduce_scatter_init_c)                        \
  X(Reduce_scatter_block_init_c) X(Scan_init_c) X(Exscan_init_c) X(Gather_init_c) X(Gatherv_init_c)    \
  X(Scatter_init_c) X(Scatterv_init_c) X(Allgather_init_c) X(Allgatherv_init_c) X(Alltoall_init_c)     \
  X(Alltoallv_init_c) X(Alltoallw_init_c) X(Neighbor_allgather_init_c)                                 \
  X(Neighbor_allgatherv_init_c) X(Neighbor_alltoall_init_c) X(Neighbor_alltoallv_init_c)               \
  X(Neighbor_alltoallw_init_c)
#else
#define COLL_SHIM_INITS_LARGE(X)
#endif

// The entry points of neighbors.h.
#define COLL_SHIM_EDGES(X)                                                                              \
  X(Alltoallw) X(Neighbor_allgather) X(Neighbor_allgatherv)                                            \
  X(Neighbor_alltoall) X(Neighbor_alltoallv) X(Neighbor_alltoallw)                                     \
  X(Ialltoallw) X(Ineighbor_allgather) X(Ineighbor_allgatherv)                                         \
  X(Ineighbor_alltoall) X(Ineighbor_alltoallv) X(Ineighbor_alltoallw) COLL_SHIM_EDGES_LARGE(X)
#if MPI_VERSION >= 4
#define COLL_SHIM_EDGES_LARGE(X)                                                                        \
  X(Alltoallw_c) X(Neighbor_allgather_c) X(Neighbor_allgatherv_c)                                      \
  X(Neighbor_alltoall_c) X(Neighbor_alltoallv_c) X(Neighbor_alltoallw_c)                               \
  X(Ialltoallw_c) X(Ineighbor_allgather_c) X(Ineighbor_allgatherv_c)                                   \
  X(Ineighbor_alltoall_c) X(Ineighbor_alltoallv_c) X(Ineighbor_alltoallw_c)
#else
#define COLL_SHIM_EDGES_LARGE(X)
#endif

// The entry points with large counts.
#if MPI_VERSION >= 4
#define COLL_SHIM_LARGE_COUNTS
#define COLL_SHIM_INTERCEPTED_LARGE(X)                                                                        \
  X(Bcast_c) X(Reduce_c) X(Allreduce_c) X(Reduce_scatter_c) X(Reduce_scatter_block_c)                  \
  X(Scan_c) X(Exscan_c) X(Gather_c) X(Gatherv_c) X(Scatter_c) X(Scatterv_c)                            \
  X(Allgather_c) X(Allgatherv_c) X(Alltoall_c) X(Alltoallv_c)                                          \
  X(Ibcast_c) X(Ireduce_c) X(Iallreduce_c) X(Ireduce_scatter_c) X(Ireduce_scatter_block_c)             \
  X(Iscan_c) X(Iexscan_c) X(Igather_c) X(Igatherv_c) X(Iscatter_c) X(Iscatterv_c)                      \
  X(Iallgather_c) X(Iallgatherv_c) X(Ialltoall_c) X(Ialltoallv_c)
#else
#define COLL_SHIM_INTERCEPTED_LARGE(X)
#endif

// The non-blocking collectives.
#define COLL_SHIM_STARTED(X)                                                                            \
  X(Ibarrier) X(Ibcast) X(Ireduce) X(Iallreduce)                                                       \
  X(Ireduce_scatter) X(Ireduce_scatter_block) X(Iscan) X(Iexscan)                                      \
  X(Igather) X(Igatherv) X(Iscatter) X(Iscatterv) X(Iallgather) X(Iallgatherv) X(Ialltoall) X(Ialltoallv)      \
  COLL_SHIM_ASKED(X)
#ifdef OPEN_MPI
#define COLL_SHIM_ASKED(X)
#else
#define COLL_SHIM_ASKED(X) X(Request_get_status)
#endif

// The functions that the shim itself calls; always by their PMPI_ names, so that tools do not count them as calls of
// the program.
#define COLL_SHIM_NEEDED(X)                                                                             \
  X(Initialized) X(Finalized) X(Get_library_version)                                                   \
  X(Comm_test_inter) X(Comm_size) X(Comm_rank) X(Comm_compare) X(Comm_split) X(Comm_free)              \
  X(Comm_group) X(Group_free) X(Comm_create_group)                                                    \
  X(Comm_create_keyval) X(Comm_free_keyval) X(Comm_get_attr) X(Comm_set_attr) X(Comm_delete_attr)      \
  X(Comm_get_name) X(Comm_get_errhandler) X(Comm_set_errhandler) X(Comm_call_errhandler) X(Errhandler_free)             \
  X(Add_error_code) X(Add_error_string)                                                                \
  X(Allgather) X(Irecv) X(Request_get_status) X(Cancel) X(Wait) X(Pack) X(Unpack)                      \
  X(Comm_split_type) X(Isend) X(Waitall) X(Barrier) X(Bcast) X(Ibcast) X(Reduce) X(Ireduce)            \
  X(Allreduce) X(Iallreduce) X(Exscan) X(Iexscan) X(Reduce_scatter) X(Reduce_local)                    \
  X(Allgatherv) X(Alltoall)                                                                            \
  X(Type_create_keyval) X(Type_free_keyval) X(Type_get_attr) X(Type_set_attr)                          \
  X(Type_create_hindexed) X(Type_commit) X(Type_free)                                                  \
  X(Type_size) X(Type_get_extent) X(Type_get_envelope) X(Type_get_contents)                           \
  X(Topo_test) X(Cartdim_get) X(Cart_get) X(Cart_shift) X(Graph_neighbors_count) X(Graph_neighbors)    \
  X(Dist_graph_neighbors_count) X(Dist_graph_neighbors)                                                \
  COLL_SHIM_COUNTS(X) COLL_SHIM_CONVERSIONS(X) COLL_SHIM_ENDS(X) COLL_SHIM_REQUESTS(X)
// Those of them that requests.h and background.h need.
#define COLL_SHIM_REQUESTS(X)                                                                           \
  COLL_SHIM_STATUSES(X) X(Grequest_start) X(Grequest_complete) X(Recv_init) X(Start) X(Send) X(Request_free) X(Query_thread)                                               \
  X(Group_translate_ranks) X(Iallgather) X(Test) X(Testall) X(Type_dup)
// For an empty status. In the ABI its fields are private; requests.cc writes those of Open MPI and MPICH directly.
#ifdef COLL_SHIM_ABI
#define COLL_SHIM_STATUSES(X) X(Status_set_elements) X(Status_set_cancelled)
#else
#define COLL_SHIM_STATUSES(X)
#endif
// Sizes as MPI_Count: mpi.COLL_SHIM_COUNT(Type_size). MPI 4.1 deprecates the functions that end in _x.
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
#define COLL_SHIM_COUNT(name) name##_c
#define COLL_SHIM_COUNTS(X) X(Type_size_c) X(Type_get_extent_c) X(Type_get_true_extent_c)
#else
#define COLL_SHIM_COUNT(name) name##_x
#define COLL_SHIM_COUNTS(X) X(Type_size_x) X(Type_get_extent_x) X(Type_get_true_extent_x)
#endif
// Conversions of Fortran's handles. MPICH's are the same as C's, and the standard ABI has no Fortran.
#ifdef OPEN_MPI
#define COLL_SHIM_CONVERSIONS(X) X(Comm_f2c) X(Type_f2c) X(Type_c2f) X(Op_f2c) X(Request_c2f) X(Request_f2c)
#else
#define COLL_SHIM_CONVERSIONS(X)
#endif
// The functions by which errors.cc ends a process of MPICH, or of the standard ABI.
#ifdef OPEN_MPI
#define COLL_SHIM_ENDS(X)
#else
#define COLL_SHIM_ENDS(X) X(Abort) X(T_init_thread) X(T_cvar_get_index) X(T_cvar_handle_alloc) X(T_cvar_write)
#endif
// clang-format on

struct MpiLibrary {
#define COLL_SHIM_MEMBER(name) decltype(&::PMPI_##name) name;
#define COLL_SHIM_INIT_MEMBER(name) decltype(&::COLL_SHIM_PROFILED_INIT(name)) name##_init;
  struct Next {
    COLL_SHIM_INTERCEPTED(COLL_SHIM_MEMBER)
    COLL_SHIM_INITS(COLL_SHIM_INIT_MEMBER)
  } next;
  COLL_SHIM_NEEDED(COLL_SHIM_MEMBER)
  decltype(&::PMPI_Free_mem) own_free_mem;  // the library's PMPI_Free_mem, which the shim defines, too
#undef COLL_SHIM_MEMBER
#undef COLL_SHIM_INIT_MEMBER
  MPI_Comm world;
  MPI_Comm self;
  MPI_Errhandler errors_return;
  MPI_Datatype byte, no_datatype;
  MPI_Info info_null;
  bool usable;          // all of COLL_SHIM_NEEDED were found; members of `next` may still be null
  const char *missing;  // the first that was not
};

// The library's functions, looked up at the first call. The reference stays valid. Thread safe.
const MpiLibrary &mpi_library();

// The next definition of a Fortran entry point; looked up anew each time.
void *next_fortran(const char *name);

// As mpi_library(), for callers that know that mpi_library() has been called: one load, no check.
extern MpiLibrary mpi;

// Whether the process is between MPI_Init and MPI_Finalize.
bool mpi_is_running();

// While an object of this class exists, MPI errors are returned to the shim. Errors of calls on no communicator go to
// the handler of MPI_COMM_WORLD (of MPI_COMM_SELF from MPI 4 on), which would end the program. For calls on handles
// that may be invalid because of a mistake of the program.
//
// It has no effect under MPICH: a communicator whose own handler was never set follows the present one of
// MPI_COMM_WORLD there. A handler cannot be made unset again, and is inherited by new communicators. There, such a handle
// is first passed to a function together with a communicator of the shim, whose handler MPICH calls: is_communicator()
// (communicators.cc) and is_committed() (datatypes.cc).
//
// At most one object exists in a process: a second thread waits for the first, and a nested one would wait forever. Errors
// of other threads are returned meanwhile, too. REQUIRES: mpi_library() was called, and MPI is running.
class QuietErrors {
 public:
  QuietErrors();
  ~QuietErrors();
  QuietErrors(const QuietErrors &) = delete;
  QuietErrors &operator=(const QuietErrors &) = delete;

 private:
  struct Handler {
    MPI_Comm comm;
    MPI_Errhandler saved;
    bool set;
  };
  Handler handlers_[2];
};

}  // namespace coll::shim
