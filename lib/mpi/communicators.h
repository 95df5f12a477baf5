// SPDX-License-Identifier: BSD-3-Clause
// What the shim keeps for each MPI communicator: an attribute, made by the first collective that could be taken.
#pragma once

#include "mpi/handle_cache.h"
#include "mpi/handles.h"
#include "mpi/nodes.h"

#include <coll/coll.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace coll::shim {

enum Collective {
  barrier,
  bcast,
  reduce,
  allreduce,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  exscan,
  gather,
  gatherv,
  scatter,
  scatterv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw,
  blocking_collectives,
  ibarrier = blocking_collectives,
  ibcast,
  ireduce,
  iallreduce,
  ireduce_scatter,
  ireduce_scatter_block,
  iscan,
  iexscan,
  igather,
  igatherv,
  iscatter,
  iscatterv,
  iallgather,
  iallgatherv,
  ialltoall,
  ialltoallv,
  ialltoallw,
  ineighbor_allgather,
  ineighbor_allgatherv,
  ineighbor_alltoall,
  ineighbor_alltoallv,
  ineighbor_alltoallw,
  barrier_init,
  bcast_init,
  reduce_init,
  allreduce_init,
  reduce_scatter_init,
  reduce_scatter_block_init,
  scan_init,
  exscan_init,
  gather_init,
  gatherv_init,
  scatter_init,
  scatterv_init,
  allgather_init,
  allgatherv_init,
  alltoall_init,
  alltoallv_init,
  alltoallw_init,
  neighbor_allgather_init,
  neighbor_allgatherv_init,
  neighbor_alltoall_init,
  neighbor_alltoallv_init,
  neighbor_alltoallw_init,
  collectives
};

// The persistent form of a non-blocking one.
constexpr Collective persistent_form(Collective collective) {
  return static_cast<Collective>(collective + (barrier_init - ibarrier));
}

// "MPI_Bcast".
const char *mpi_name(Collective collective);
// What libcoll's statistics call it.
const char *libcoll_name(Collective collective);

// Why a call is passed on.
enum class Why : std::uint8_t {
  closed,     // outside MPI_Init ... MPI_Finalize, or COLL_MPI=off, or COLL_PROGRAMS
  ending,     // inside MPI_Comm_free or MPI_Comm_disconnect
  inter,      // an inter-communicator
  alone,      // one rank
  nodes,      // ranks on several nodes, and two levels cannot be right or cannot win
  refused,    // libcoll could not make a communicator
  empty,      // nothing to move
  arguments,  // wrong ones, for the library below to complain about
  datatype,   // not known
  reduction,  // an operation, or a pair of operation and datatype, that libcoll does not do
  size,       // too large
  agreement,  // the ranks have not yet agreed on a communicator of libcoll (background.h)
  others,     // another rank could not prepare a persistent request
  progress,   // the MPI library has no place for the progress of requests (hook.h)
  count_      // how many there are
};
constexpr std::size_t whys = static_cast<std::size_t>(Why::count_);
const char *why_name(Why why);

struct Tally {
  std::uint64_t taken[collectives];
  std::uint64_t passed[collectives][whys];
};

// How far the ranks have come with a communicator.
enum class Standing : std::uint8_t {
  settled,     // for good
  background,  // they are agreeing while the program goes on
  unasked      // libcoll serves no non-blocking collectives on it; the first blocking one asks for the others
};

class Background;
struct Neighborhood;

// Used by one thread at a time, as MPI asks of a communicator's collectives.
struct Communicator {
  coll_comm *coll;               // of a communicator on one node
  std::unique_ptr<Nodes> nodes;  // of one on several
  Why why;                       // neither: everything is passed on
  int rank;
  int ranks;
  Tally tally;
  std::unique_ptr<char[]> packed;  // what scattered data are packed into
  std::size_t packed_bytes;
  Communicator *next;  // all that live
  Communicator **link;

  std::unique_ptr<std::size_t[]> numbers;            // of v-forms, in bytes
  std::shared_ptr<const Neighborhood> neighborhood;  // found by the first collective among neighbours

  std::shared_ptr<Background> background;
  Standing standing;

  bool takes() const { return coll != nullptr || nodes != nullptr || standing != Standing::settled; }
  // NULL when there is no memory.
  char *packing_space(std::size_t bytes);
  // Room for four numbers a rank; NULL when there is no memory.
  std::size_t *number_space() { return numbers != nullptr ? numbers.get() : make_numbers(); }
  std::size_t *make_numbers();
};

extern constinit thread_local HandleCache<Communicator> recent_communicators;

// NULL when the thread has not used it lately.
inline Communicator *recent(MPI_Comm comm) { return recent_communicators.find(handle_bits(comm)); }

// Whether the shim may take calls now: MPI runs, switched_off() gives no reason, and this is not a call that MPI makes
// while the shim itself waits for it.
bool prepare();

// Finds or makes what is kept for `comm`; making it is collective. NULL when `comm` is no communicator or has
// no rank `root`: the library below will say so. Throws std::bad_alloc. Needs prepare().
Communicator *acquire(MPI_Comm comm, int root);

// The same for a non-blocking collective: local. What is kept is not settled at first.
Communicator *acquire_locally(MPI_Comm comm, int root);

// Whether the next call on a communicator that is not settled is served: Why::count_, or why it is forwarded. To be asked
// once for each collective call, by the blocking ones and by the starts of others: they are counted.
Why settle(MPI_Comm comm, Communicator &communicator);
Why settle_locally(Communicator &communicator);

// Frees what is kept for `comm`, which the program is about to free; nothing for a communicator that cannot be freed.
void release(MPI_Comm comm);

// Why a call on a communicator is forwarded of which nothing is kept.
Why unkept(MPI_Comm comm);

// Whether this MPI library lets the shim serve non-blocking collectives.
extern bool requests_work;

// A communicator of this process alone, to pack with.
MPI_Comm private_communicator();
// A request that does not complete, to drive MPI's progress with.
MPI_Request endless_request();

// Counts a call that is passed on; `communicator` may be NULL.
void count_passed(Communicator *communicator, Collective collective, Why why);

// Where the processes of MPI_COMM_WORLD sit; called at the end of MPI_Init, collective. Without it the first collective of
// every communicator asks. Calls after the first do nothing.
void start_up();

// Frees all that is kept and takes no more calls. Called at the start of MPI_Finalize, that is at the same point
// of every rank's program, so that no rank takes a call that another passes on.
void shut_down();

}  // namespace coll::shim
