// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives.
//
// The program gets a persistent receive of the MPI library, from this process itself, as handle: all functions of the library
// take that, active or not. MPI_Start starts libcoll's request as well, and when that is complete, the library's progress
// (requests.h) sends the message that completes the receive.
//
// MPI lets ranks start the persistent requests of a communicator in different orders; libcoll does not. So each has a libcoll
// communicator of its own, which the ranks make when they make the request.
#pragma once

#include "mpi/communicators.h"
#include "mpi/requests.h"

#include <coll/coll.h>

#include <atomic>
#include <memory>

namespace coll::shim {

class Persistent : public Started {
 public:
  // NULL when this rank cannot have one more.
  static std::unique_ptr<Persistent> make(Collective collective);
  ~Persistent() override;

  // Where it runs, made of `coll`; collective.
  coll_status make_communicator(coll_comm *coll, int rank) { return coll_comm_split(coll, 0, rank, &own_); }
  coll_comm *own() const { return own_; }

  // From then on the program has its handle; false when there is no memory.
  static bool publish(std::unique_ptr<Persistent> &made, MPI_Request *request);
  // As MPI_Start.
  int start();
  // Behind MPI_Request_free.
  void free();

  void end() override;
  bool is_running() const { return running_; }

 private:
  Collective collective_;
  coll_comm *own_ = nullptr;
  int tag_ = 0;
  bool has_handle_ = false, published_ = false;
  bool running_ = false, freed_ = false;  // guarded by the table's mutex
};

extern std::atomic<int> persistent_requests;  // of libcoll
Persistent *look_up_persistent(MPI_Request request);
// That of the program's request; NULL if it is not libcoll's.
inline Persistent *find_persistent(MPI_Request request) {
  return persistent_requests.load(std::memory_order_relaxed) == 0 ? nullptr : look_up_persistent(request);
}

// Whether all ranks of `coll` say yes; collective.
bool all_say(coll_comm *coll, bool yes);

// Frees those that the program has not freed. At the start of MPI_Finalize.
void free_persistent();

}  // namespace coll::shim
