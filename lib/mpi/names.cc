// SPDX-License-Identifier: BSD-3-Clause
//
// Names of collectives, and of the reasons for forwarding them.
#include "mpi/names.h"

#include "mpi/library.h"

namespace coll::shim {
namespace {

// The names in MPI, in the shim's log, and in libcoll's statistics.
struct Name {
  const char *of_mpi;
  const char *own;
  const char *of_libcoll;
};
constexpr Name names[collectives] = {
    {"MPI_Barrier", "barrier", "barrier"},
    {"MPI_Bcast", "bcast", "bcast"},
    {"MPI_Reduce", "reduce", "reduce"},
    {"MPI_Allreduce", "allreduce", "allreduce"},
    {"MPI_Reduce_scatter", "reduce_scatter", "reduce_scatter"},
    {"MPI_Reduce_scatter_block", "reduce_scatter_block", "reduce_scatter"},
    {"MPI_Scan", "scan", "scan"},
    {"MPI_Exscan", "exscan", "exscan"},
    {"MPI_Gather", "gather", "gather"},
    {"MPI_Gatherv", "gatherv", "gather"},
    {"MPI_Scatter", "scatter", "scatter"},
    {"MPI_Scatterv", "scatterv", "scatter"},
    {"MPI_Allgather", "allgather", "allgather"},
    {"MPI_Allgatherv", "allgatherv", "allgather"},
    {"MPI_Alltoall", "alltoall", "alltoall"},
    {"MPI_Alltoallv", "alltoallv", "alltoall"},
    {"MPI_Alltoallw", "alltoallw", "alltoallw"},
    {"MPI_Neighbor_allgather", "neighbor_allgather", "neighbor_allgather"},
    {"MPI_Neighbor_allgatherv", "neighbor_allgatherv", "neighbor_allgatherv"},
    {"MPI_Neighbor_alltoall", "neighbor_alltoall", "neighbor_alltoall"},
    {"MPI_Neighbor_alltoallv", "neighbor_alltoallv", "neighbor_alltoallv"},
    {"MPI_Neighbor_alltoallw", "neighbor_alltoallw", "neighbor_alltoallw"},
    {"MPI_Ibarrier", "ibarrier", "barrier"},
    {"MPI_Ibcast", "ibcast", "bcast"},
    {"MPI_Ireduce", "ireduce", "reduce"},
    {"MPI_Iallreduce", "iallreduce", "allreduce"},
    {"MPI_Ireduce_scatter", "ireduce_scatter", "reduce_scatter"},
    {"MPI_Ireduce_scatter_block", "ireduce_scatter_block", "reduce_scatter"},
    {"MPI_Iscan", "iscan", "scan"},
    {"MPI_Iexscan", "iexscan", "exscan"},
    {"MPI_Igather", "igather", "gather"},
    {"MPI_Igatherv", "igatherv", "gather"},
    {"MPI_Iscatter", "iscatter", "scatter"},
    {"MPI_Iscatterv", "iscatterv", "scatter"},
    {"MPI_Iallgather", "iallgather", "allgather"},
    {"MPI_Iallgatherv", "iallgatherv", "allgather"},
    {"MPI_Ialltoall", "ialltoall", "alltoall"},
    {"MPI_Ialltoallv", "ialltoallv", "alltoall"},
    {"MPI_Ialltoallw", "ialltoallw", "alltoallw"},
    {"MPI_Ineighbor_allgather", "ineighbor_allgather", "neighbor_allgather"},
    {"MPI_Ineighbor_allgatherv", "ineighbor_allgatherv", "neighbor_allgatherv"},
    {"MPI_Ineighbor_alltoall", "ineighbor_alltoall", "neighbor_alltoall"},
    {"MPI_Ineighbor_alltoallv", "ineighbor_alltoallv", "neighbor_alltoallv"},
    {"MPI_Ineighbor_alltoallw", "ineighbor_alltoallw", "neighbor_alltoallw"},
    {COLL_SHIM_INIT_PREFIX "Barrier_init", "barrier_init", "barrier"},
    {COLL_SHIM_INIT_PREFIX "Bcast_init", "bcast_init", "bcast"},
    {COLL_SHIM_INIT_PREFIX "Reduce_init", "reduce_init", "reduce"},
    {COLL_SHIM_INIT_PREFIX "Allreduce_init", "allreduce_init", "allreduce"},
    {COLL_SHIM_INIT_PREFIX "Reduce_scatter_init", "reduce_scatter_init", "reduce_scatter"},
    {COLL_SHIM_INIT_PREFIX "Reduce_scatter_block_init", "reduce_scatter_block_init", "reduce_scatter"},
    {COLL_SHIM_INIT_PREFIX "Scan_init", "scan_init", "scan"},
    {COLL_SHIM_INIT_PREFIX "Exscan_init", "exscan_init", "exscan"},
    {COLL_SHIM_INIT_PREFIX "Gather_init", "gather_init", "gather"},
    {COLL_SHIM_INIT_PREFIX "Gatherv_init", "gatherv_init", "gather"},
    {COLL_SHIM_INIT_PREFIX "Scatter_init", "scatter_init", "scatter"},
    {COLL_SHIM_INIT_PREFIX "Scatterv_init", "scatterv_init", "scatter"},
    {COLL_SHIM_INIT_PREFIX "Allgather_init", "allgather_init", "allgather"},
    {COLL_SHIM_INIT_PREFIX "Allgatherv_init", "allgatherv_init", "allgather"},
    {COLL_SHIM_INIT_PREFIX "Alltoall_init", "alltoall_init", "alltoall"},
    {COLL_SHIM_INIT_PREFIX "Alltoallv_init", "alltoallv_init", "alltoall"},
    {COLL_SHIM_INIT_PREFIX "Alltoallw_init", "alltoallw_init", "alltoallw"},
    {COLL_SHIM_INIT_PREFIX "Neighbor_allgather_init", "neighbor_allgather_init", "neighbor_allgather"},
    {COLL_SHIM_INIT_PREFIX "Neighbor_allgatherv_init", "neighbor_allgatherv_init", "neighbor_allgatherv"},
    {COLL_SHIM_INIT_PREFIX "Neighbor_alltoall_init", "neighbor_alltoall_init", "neighbor_alltoall"},
    {COLL_SHIM_INIT_PREFIX "Neighbor_alltoallv_init", "neighbor_alltoallv_init", "neighbor_alltoallv"},
    {COLL_SHIM_INIT_PREFIX "Neighbor_alltoallw_init", "neighbor_alltoallw_init", "neighbor_alltoallw"},
};
constexpr const char *why_names[whys] = {"outside MPI_Init ... MPI_Finalize",
                                         "session without MPI_Init",
                                         "inside MPI_Comm_free",
                                         "inter-communicator",
                                         "one rank",
                                         "several MPI_COMM_WORLDs",
                                         "several nodes",
                                         "no libcoll communicator",
                                         "empty",
                                         "wrong arguments",
                                         "datatype",
                                         "operation on this datatype",
                                         "too large",
                                         "not yet agreed",
                                         "not at all ranks",
                                         "no place for progress"};

}  // namespace

const char *mpi_name(Collective collective) { return names[collective].of_mpi; }

const char *own_name(Collective collective) { return names[collective].own; }

const char *libcoll_name(Collective collective) { return names[collective].of_libcoll; }

const char *why_name(Why why) { return why_names[static_cast<std::size_t>(why)]; }

}  // namespace coll::shim
