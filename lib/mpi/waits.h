// SPDX-License-Identifier: BSD-3-Clause
// The time that a program waits for collectives that it has started, for COLL_STATS.
//
// Waits and tests are intercepted only for this: the MPI library completes the requests (requests.h). While statistics
// are kept, the requests of collectives are in a table; a call counts if one of its requests is in it.
#pragma once

#include "mpi/handles.h"
#include "mpi/spending.h"

#include <coll/shim.h>

#include <cstddef>
#include <type_traits>
#include <vector>

namespace coll::shim {

// Called when a collective has been started, and when the library has freed its request. They do nothing unless
// statistics are kept.
void note_started(MPI_Request request, coll_stats_part part);
void note_freed(MPI_Request request);
// As note_started(), for a forwarded collective. A request that is already complete is left out: the library may use
// one handle for all of them, also for messages.
void note_forwarded(MPI_Request request, coll_stats_part part);

// Measures a call of `function` that waits for requests, or tests them, while statistics are kept; `before` and `after`
// are the handles in the caller's array before and after the call.
class Wait {
 public:
  Wait(const char *function, const std::vector<MPI_Request> &before);
  void end(const std::vector<MPI_Request> &after);

 private:
  struct Seen {
    std::size_t place;
    MPI_Request handle;
  };

  const char *function_;
  std::vector<Seen> seen_;  // requests of collectives
  coll_stats_part part_ = COLL_STATS_ONE_RANK;
  double began_ = 0;
};

inline std::vector<MPI_Request> handles_in(int count, const MPI_Request *requests) {
  if (count <= 0 || requests == nullptr) return {};
  return {requests, requests + count};
}

// Calls the next definition of an entry point; `handles()` returns the handles in the caller's array at that moment.
template <typename Handles, typename Next, typename... Arguments>
auto wait(const char *function, Handles handles, Next next, Arguments... arguments) {
  if (!counts_calls()) [[likely]]
    return next(arguments...);
  Wait wait(function, handles());
  if constexpr (std::is_void_v<decltype(next(arguments...))>) {
    next(arguments...);
    wait.end(handles());
  } else {
    const auto result = next(arguments...);
    wait.end(handles());
    return result;
  }
}

// Forwards the start of a collective, or the creation of a persistent request; `handle()` returns its request.
template <void note(MPI_Request, coll_stats_part) = note_forwarded, typename Handle, typename Next,
          typename... Arguments>
auto forward_start(Handle handle, Next next, Arguments... arguments) {
  if (!counts_calls()) [[likely]]
    return next(arguments...);
  const Forwarding forwarding;
  if constexpr (std::is_void_v<decltype(next(arguments...))>) {
    next(arguments...);
    if (forwarding.counts()) note(handle(), forwarding.part());
  } else {
    const auto result = next(arguments...);
    if (forwarding.counts() && result == MPI_SUCCESS) note(handle(), forwarding.part());
    return result;
  }
}

}  // namespace coll::shim
