// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives.
//
// The program's handle is a persistent receive of the MPI library from this process itself: all functions of the
// library accept it, active or not. MPI_Start also starts libcoll's request, and when that is complete, the library's
// progress (requests.h) sends the message that completes the receive.
//
// MPI lets ranks start the persistent requests of a communicator in different orders; libcoll does not. So each request
// has its own libcoll communicator, which the ranks create when they create the request.
#pragma once

#include "mpi/communicators.h"
#include "mpi/requests.h"

#include <coll/coll.h>

#include <atomic>
#include <memory>

namespace coll::shim {

class Persistent : public Started {
 public:
  // Returns NULL if this rank cannot have another persistent request.
  static std::unique_ptr<Persistent> make(Collective collective);
  ~Persistent() override;

  // Creates the request's own communicator from `coll`; collective.
  coll_status make_communicator(coll_comm *coll, int rank) { return coll_comm_split(coll, 0, rank, &own_); }
  coll_comm *own() const { return own_; }

  // Gives the handle to the program; returns false if there is no memory.
  static bool publish(std::unique_ptr<Persistent> &made, MPI_Request *request);
  // Implements MPI_Start.
  int start();
  // Called after MPI_Request_free.
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

extern std::atomic<int> persistent_requests;  // number of requests that libcoll serves
Persistent *look_up_persistent(MPI_Request request);
// Returns libcoll's request behind the program's; NULL if libcoll does not serve it.
inline Persistent *find_persistent(MPI_Request request) {
  return persistent_requests.load(std::memory_order_relaxed) == 0 ? nullptr : look_up_persistent(request);
}

// Returns whether `yes` is true on all ranks of `coll`; collective.
bool all_agree(coll_comm *coll, bool yes);

// Frees the requests that the program has not freed. Called at the start of MPI_Finalize.
void free_persistent();

}  // namespace coll::shim
