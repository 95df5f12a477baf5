// SPDX-License-Identifier: BSD-3-Clause
// The time that calls take, for COLL_STATS: of those that libcoll serves, and of those that are forwarded.
#pragma once

#include "mpi/communicators.h"
#include "mpi/handles.h"

#include <coll/shim.h>

#include <cstddef>

namespace coll::shim {

// Whether COLL_STATS wants to know of each call how large it is, and how long it takes.
extern bool counts_calls;

double now_seconds();

// The rest of a call that libcoll serves, or starts.
class Serving {
 public:
  explicit Serving(Collective collective) {
    if (counts_calls) [[unlikely]]
      begin(collective);
  }
  ~Serving() {
    if (function_ != nullptr) [[unlikely]]
      end();
  }
  Serving(const Serving &) = delete;
  Serving &operator=(const Serving &) = delete;

 private:
  void begin(Collective collective);
  void end();

  const char *function_ = nullptr;
  double began_;
};

// The thread is about to forward such a call; `count` -1: not known.
void announce_forwarded(Collective collective, Why why, MPI_Count count, MPI_Datatype datatype);

// The call that the thread has announced, while the MPI library has it; nothing if there is none.
class Forwarding {
 public:
  Forwarding();
  ~Forwarding();
  Forwarding(const Forwarding &) = delete;
  Forwarding &operator=(const Forwarding &) = delete;

  bool counts() const { return counts_; }
  coll_stats_part part() const { return why_ == Why::alone ? COLL_STATS_ONE_RANK : COLL_STATS_FORWARDED; }

 private:
  bool counts_;
  Collective collective_;
  Why why_;
  std::size_t bytes_;
  double began_;
};

// Calls the next entry point.
template <typename Next, typename... Arguments>
auto forward(Next next, Arguments... arguments) {
  if (!counts_calls) [[likely]]
    return next(arguments...);
  const Forwarding forwarding;
  return next(arguments...);
}

// Begins it, as rank `rank` of MPI_COMM_WORLD.
void begin_statistics(int rank);
// Compares all ranks, if all of them count; collective on `world`. Before statistics are written.
void compare_ranks(MPI_Comm world);

}  // namespace coll::shim
