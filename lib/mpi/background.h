// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a communicator agree to use libcoll while the program continues.
//
// The start of a non-blocking collective must not wait for peers: a peer may reach its own start only after it received
// a message that this rank has not sent yet. So the first start on a communicator only begins an agreement, and
// starts are forwarded until it has ended. At the end all ranks must switch to libcoll with the same start:
//
//  1. With its first call every rank posts an MPI_Iallgather on the communicator, which informs all ranks about all
//     others. It has the same place among the communicator's collectives on every rank. Everything later uses messages
//     on a communicator of the shim, so it never comes between the program's collectives.
//  2. A thread of each rank creates libcoll's communicator (agreement.h).
//  3. Each rank votes for a start: a few starts after its latest one, or that one if it waits in a blocking collective.
//     The highest vote is the last start that is forwarded. A rank that reaches its own vote before it knows the others'
//     waits there. Votes are sent inside any MPI call, so this wait does not depend on what peers do in their programs,
//     and there is no deadlock.
//
// A blocking collective may wait for its peers: it waits for the end of the agreement, and is served. So which calls are
// served depends on the order of the starts alone: MPI requires the same order of all collectives on every rank, but its
// libraries run programs in which a rank starts one before a barrier and another rank after it.
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
  // Begins the agreement; local. Returns NULL, on all ranks alike, if the shim cannot send messages to all of them.
  // Throws std::bad_alloc.
  static std::shared_ptr<Background> begin(MPI_Comm comm, int rank, int ranks);
  ~Background();
  Background(const Background &) = delete;
  Background &operator=(const Background &) = delete;

  // Counts a start. Returns whether the agreement has ended and this start comes after the last forwarded one, or there
  // is no libcoll communicator.
  bool is_over_for_start();
  // Waits for the end of the agreement.
  void wait();
  // Once it has ended, to be called once: the libcoll communicator, now owned by the caller; NULL if there is none, for
  // the reason why().
  coll_comm *release_communicator();
  Why why() const { return why_; }

  // Waits for the first round, after which the program may free the communicator. Called in MPI_Comm_free, which every
  // rank calls after its first collective.
  void end_first_round();

  // Waits for the end of all agreements, at the start of MPI_Finalize, where every rank does. No agreement can begin
  // afterwards.
  static void end_all();

 private:
  // What each rank sends in the first round.
  struct Opening {
    int good;  // whether the rank can take part
    int tag;   // tag of the messages to this rank about this agreement
    NodeName node;
    KernelName kernel;
  };
  class FirstRound;
  class Messages;

  Background(int rank, int ranks);
  bool find_peers(MPI_Comm comm);
  bool is_finished();  // the caller holds the mutex of all agreements
  void run();
  Why obstacle() const;
  long vote();
  void announce(coll_comm *made, Why why, long last_forwarded);

  const int rank_;
  const int ranks_;
  std::vector<int> peers_;  // ranks in private_world()
  Opening own_{};
  std::vector<Opening> openings_;
  MPI_Request first_round_;
  bool posted_ = false;
  std::thread thread_;

  std::mutex mutex_;  // guards the members below
  long starts_ = 0;
  bool is_waiting_ = false;  // in wait()
  long vote_ = -1;           // -1: has not voted
  std::atomic<bool> announced_ = false;
  std::atomic<bool> first_round_over_ = false;
  std::atomic<bool> finished_ = false;  // the thread has finished its work
  long last_forwarded_ = 0;             // start; 0 if there is no libcoll communicator
  Why why_ = Why::refused;
  coll_comm *made_ = nullptr;
};

}  // namespace coll::shim
