// SPDX-License-Identifier: BSD-3-Clause
// The time of calls, for COLL_STATS: of those that libcoll serves, and of those that are forwarded.
#pragma once

#include "mpi/communicators.h"
#include "mpi/handles.h"

#include <coll/shim.h>

#include <atomic>
#include <cstddef>

namespace coll::shim {

extern std::atomic<bool> counts_calls_flag;
// Whether COLL_STATS records the size and the time of each call.
inline bool counts_calls() { return counts_calls_flag.load(std::memory_order_relaxed); }

double now_seconds();

// Measures the rest of a call that libcoll serves or starts.
class Serving {
 public:
  explicit Serving(Collective collective) {
    if (counts_calls()) [[unlikely]]
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

// Called when the thread is about to forward a call; `count` is -1 if it is not known.
void announce_forwarded(Collective collective, Why why, MPI_Count count, MPI_Datatype datatype);

// Measures the announced call while the MPI library executes it; does nothing if no call was announced.
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

// Calls the next definition of an entry point.
template <typename Next, typename... Arguments>
auto forward(Next next, Arguments... arguments) {
  if (!counts_calls()) [[likely]]
    return next(arguments...);
  const Forwarding forwarding;
  return next(arguments...);
}

// Begins to keep statistics, as rank `rank` of MPI_COMM_WORLD.
void begin_statistics(int rank);
// Compares the sums of all ranks; collective over `world`, so all ranks must keep statistics. Called before statistics
// are written.
void compare_ranks(MPI_Comm world);

}  // namespace coll::shim
