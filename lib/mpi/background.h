// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a communicator agree on libcoll while the program goes on.
//
// The start of a non-blocking collective must not wait for peers: a peer may come to its own start only after a message
// that this rank has not sent yet. So the first start on a communicator only begins an agreement, and collectives are
// forwarded until it has ended. At the end all ranks must change over with the same call:
//
//  1. With the first call every rank posts an MPI_Iallgather on the communicator, by which all learn of all. It is at the
//     same place among the communicator's collectives on every rank. Everything later goes by messages of the shim on a
//     communicator of its own, so that it never stands between the program's collectives.
//  2. A thread of the rank makes libcoll's communicator (agreement.h).
//  3. Each rank votes for a call: a few calls behind the last that it has made. The latest of these calls is the last one
//     that is forwarded. A rank that comes past its own vote before it knows the others' waits there. They vote in any MPI
//     call, so that is no wait for what they do in the program, and there is no deadlock.
//
// A blocking collective may wait for its peers, and waits for the end of the agreement.
#pragma once

#include "mpi/communicators.h"
#include "mpi/handles.h"
#include "mpi/placement.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace coll::shim {

class Background {
 public:
  // Begins the agreement; local. NULL, on all ranks alike, where the shim has no way to send messages to all of them.
  // Throws std::bad_alloc.
  static std::shared_ptr<Background> begin(MPI_Comm comm, int rank, int ranks);
  ~Background();
  Background(const Background &) = delete;
  Background &operator=(const Background &) = delete;

  // Counts a call. Whether the agreement has ended, and this call is behind the last that is forwarded (or all are,
  // because there is no communicator of libcoll). A call that may wait returns after the agreement has ended.
  bool is_over(bool may_wait);
  // Once it is over: the communicator of libcoll, which is the caller's then; NULL, and why not.
  coll_comm *take();
  Why why() const { return why_; }

  // Waits for the first round, after which the program may free the communicator. In MPI_Comm_free, to which all ranks
  // come behind their first call.
  void end_first_round();

  // Waits for the end of all agreements; at the start of MPI_Finalize, where all ranks do. Then no more can begin.
  static void end_all();

 private:
  // Of each rank, in the first round.
  struct Opening {
    int good;  // can take part
    int tag;   // of messages for this rank about this agreement
    NodeName node;
    KernelName kernel;
  };
  class FirstRound;
  class Messages;

  Background(int rank, int ranks);
  bool find_peers(MPI_Comm comm);
  void start_thread();
  bool is_finished();  // under the mutex of all agreements
  void run();
  Why obstacle() const;
  long vote();
  void announce(coll_comm *made, Why why, long last_forwarded);

  const int rank_;
  const int ranks_;
  std::vector<int> peers_;  // in the private world
  Opening own_{};
  std::vector<Opening> openings_;
  MPI_Request first_round_;
  bool posted_ = false;
  std::thread thread_;

  std::mutex mutex_;  // of what follows
  long calls_ = 0;
  long vote_ = -1;  // none yet
  std::atomic<bool> announced_ = false;
  std::atomic<bool> first_round_over_ = false;
  std::atomic<bool> finished_ = false;  // the thread has nothing more to do
  long last_forwarded_ = 0;
  Why why_ = Why::refused;
  coll_comm *made_ = nullptr;
};

}  // namespace coll::shim
