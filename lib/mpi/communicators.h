// SPDX-License-Identifier: BSD-3-Clause
// The shim's state of each MPI communicator: an attribute, created by the first collective that might be intercepted.
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

// The persistent variant of a non-blocking collective.
constexpr Collective persistent_form(Collective collective) {
  return static_cast<Collective>(collective + (barrier_init - ibarrier));
}

// The name in MPI, such as "MPI_Bcast".
const char *mpi_name(Collective collective);
// The name in libcoll's statistics, such as "bcast".
const char *libcoll_name(Collective collective);

// Why a call is forwarded.
enum class Why : std::uint8_t {
  closed,     // outside MPI_Init ... MPI_Finalize, or COLL_MPI=off, or COLL_PROGRAMS
  session,    // a session without MPI_Init
  ending,     // inside MPI_Comm_free or MPI_Comm_disconnect
  inter,      // the communicator is an inter-communicator
  alone,      // the communicator has one rank
  worlds,     // processes of several MPI_COMM_WORLDs, which may lack the shim
  nodes,      // ranks on several nodes, where two levels would be incorrect or slower
  refused,    // libcoll could not create a communicator
  empty,      // no data to move
  arguments,  // wrong arguments, which the MPI library reports
  datatype,   // a datatype that is unknown or not committed
  reduction,  // an operation, or a pair of operation and datatype, that libcoll does not support
  size,       // the message is too large
  agreement,  // the ranks have not yet agreed on a communicator of libcoll (background.h)
  others,     // another rank could not prepare a persistent request
  progress,   // the MPI library has no place for the progress of requests (hook.h)
  count_      // number of reasons; also: no reason to forward
};
constexpr std::size_t whys = static_cast<std::size_t>(Why::count_);
const char *why_name(Why why);

struct Tally {
  std::uint64_t intercepted[collectives];
  std::uint64_t forwarded[collectives][whys];
};

// How far the ranks of a communicator have agreed.
enum class AgreementState : std::uint8_t {
  decided,        // the decision is final
  in_background,  // they agree while the program continues, or starts are still forwarded after that (background.h)
  blocking_only   // non-blocking collectives are forwarded; the first blocking one agrees about the blocking ones
};

class Background;
struct Neighborhood;

// State of one communicator. Used by one thread at a time, as MPI requires of a communicator's collectives.
struct Communicator {
  coll_comm *coll;               // if all ranks are on one node
  std::unique_ptr<Nodes> nodes;  // if they are on several nodes
  Why why;                       // why all calls are forwarded, if there is neither
  int rank;
  int ranks;
  Tally tally;
  std::unique_ptr<char[]> packed;  // packing memory for data that is not contiguous
  std::size_t packed_bytes;
  Communicator *next;  // list of all communicators
  Communicator **link;

  std::unique_ptr<std::size_t[]> numbers;            // counts and displacements of v-variants, in bytes
  std::shared_ptr<const Neighborhood> neighborhood;  // set by the first neighbourhood collective

  std::shared_ptr<Background> background;
  AgreementState agreement_state;

  bool intercepts() const { return coll != nullptr || nodes != nullptr || agreement_state != AgreementState::decided; }
  // Returns packing memory of at least `bytes`, valid until the next call; NULL if there is no memory.
  char *packing_space(std::size_t bytes);
  // Returns room for four numbers per rank; NULL if there is no memory.
  std::size_t *number_space() { return numbers != nullptr ? numbers.get() : make_numbers(); }
  std::size_t *make_numbers();
};

extern constinit thread_local HandleCache<Communicator> recent_communicators;

// The state of `comm`, if this thread has used it recently; otherwise NULL.
inline Communicator *recent(MPI_Comm comm) { return recent_communicators.find(handle_bits(comm)); }

// Whether the shim may intercept calls now: MPI is initialised, switched_off() gives no reason, and the call is not one
// that MPI makes while the shim itself waits for MPI.
bool prepare();

// Returns the state of `comm`; creates it if there is none, which is collective over `comm`. Returns NULL if `comm` is
// not a communicator or has no rank `root`: the MPI library then reports the error. Throws std::bad_alloc. Requires
// prepare().
Communicator *acquire(MPI_Comm comm, int root);

// As acquire(), for a non-blocking collective: local. The state is at first not final.
Communicator *acquire_locally(MPI_Comm comm, int root);

// Whether the next call on a communicator without a final decision is served: Why::count_, or why it is forwarded. Call
// admit_locally(), which is local, exactly once for each start of a non-blocking collective, because starts are counted;
// admit(), for blocking collectives, may be collective.
Why admit(MPI_Comm comm, Communicator &communicator);
Why admit_locally(Communicator &communicator);

// Frees the state of `comm`, which the program is about to free; does nothing for a communicator that cannot be freed.
void release(MPI_Comm comm);

// Why a call is forwarded on a communicator that has no state. In a program that has not called MPI_Init it begins the
// statistics.
Why why_without_state(MPI_Comm comm);

// Whether the shim can serve non-blocking collectives under this MPI library.
extern bool requests_work;

// A communicator that contains only this process, for packing.
MPI_Comm private_communicator();
// A request that never completes; testing it drives MPI's progress.
MPI_Request endless_request();

// Counts a forwarded call; `communicator` may be NULL.
void count_forwarded(Communicator *communicator, Collective collective, Why why);

// Finds out on which nodes the processes of MPI_COMM_WORLD run. Called at the end of MPI_Init; collective. Without it
// the first collective of every communicator finds out. Only the first call has an effect.
void start_up();

// Frees all state; no call is intercepted afterwards. Called at the start of MPI_Finalize, which is the same point of
// every rank's program, so no rank intercepts a call that another one forwards.
void shut_down();

}  // namespace coll::shim
