// SPDX-License-Identifier: BSD-3-Clause
// Times collectives for the statistics, and writes the trace of their steps to a file.
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "comm/comm.h"
#include "comm/stats.h"
#include "exec/neighbor_exchange.h"
#include "sync/clock.h"

namespace coll::comm {

namespace {

// The size of a call for the statistics. Of a v-variant it is the sum of the lengths that this rank knows.
size_t bytes_of(const Call& call) {
  if (call.exchange != nullptr) return call.exchange->sent_bytes();
  return call.pieces != nullptr ? call.pieces->total() * call.element_bytes : call.bytes();
}

// Returns "neighbor_alltoall" for "MPI_Ineighbor_alltoall" and for "MPIX_Neighbor_alltoall_init".
std::string collective_of(std::string_view function) {
  function.remove_prefix(function.find('_') + 1);
  constexpr std::string_view persistent = "_init";
  if (function.ends_with(persistent)) function.remove_suffix(persistent.size());
  if (function.size() > 1 && function[0] == 'I' && std::islower(static_cast<unsigned char>(function[1])))
    function.remove_prefix(1);
  std::string name(function);
  name[0] = char(std::tolower(static_cast<unsigned char>(name[0])));
  return name;
}

// `function`: the MPI function, or null.
std::string name_of(const Call& call, const char* function) {
  if (call.exchange == nullptr) return plan::name(call.collective);
  return function != nullptr ? collective_of(function) : "neighbor_exchange";
}

constexpr const char* of_exchange = "neighbors";

}  // namespace

const char* Comm::transport() const {
  switch (team_.access_mode) {
    case plan::AccessMode::direct: return "mapped";
    case plan::AccessMode::remote: return team_.mechanism->name();
    case plan::AccessMode::staged: return "shm";
  }
  return "?";
}

coll_status Comm::perform_timed(const Call& call) {
  const double begin = sync::now_seconds();
  const coll_status status = perform_now(call);
  const double seconds = sync::now_seconds() - begin;
  if (status != COLL_OK) return status;
  const bool latency = is_tuned(call) ? took_latency_path_ : takes_latency_path(call);
  const bool nothing = call.empty() || (ranks() == 1 && call.collective == plan::Collective::barrier);
  std::string_view algorithm = nothing                    ? "nothing to do"
                               : ranks() == 1             ? "one rank"
                               : call.exchange != nullptr ? of_exchange
                               : latency                  ? "latency"
                                                          : std::string_view(blocking_run_.bound()->plan().algorithm);
  const bool maps = call.exchange != nullptr
                        ? call.exchange->used_mapped_memory()
                        : !nothing && ranks() > 1 && !latency && blocking_run_.used_mapped_memory();
  const char* const function = stats::function();
  stats::record(function, name_of(call, function), bytes_of(call), seconds, algorithm, maps ? "mapped" : transport());
  if (function == nullptr)
    stats::spent("coll_" + name_of(call, nullptr), ranks() == 1 ? stats::Part::one_rank : stats::Part::served, seconds);
  return status;
}

void Comm::count(const Request& request) const {
  if (request.status_ != COLL_OK) return;
  const exec::NeighborExchange* exchange = request.call_.exchange.get();
  const bool maps = exchange != nullptr ? exchange->used_mapped_memory() : request.run_.used_mapped_memory();
  const char* const function = request.call_.function;
  stats::record(function, name_of(request.call_, function), bytes_of(request.call_),
                sync::now_seconds() - request.started_,
                (exchange != nullptr ? of_exchange : std::string(request.running_->plan().algorithm)) + " (request)",
                maps ? "mapped" : transport());
}

// Counts a call of libcoll's own API; `which` is a function of coll.h. If memory runs out, the call is not counted.
void Comm::count_spent(const char* which, double began) const try {
  if (stats::function() == nullptr) stats::spent(which, stats::Part::served, sync::now_seconds() - began);
} catch (const std::bad_alloc&) { return; }

// Writes this rank's part of the timeline as an array of events.
void Comm::write_trace() const {
  const std::string path = settings_.trace + "." + std::to_string(rank());
  FILE* file = fopen(path.c_str(), "w");
  bool written = file != nullptr && fprintf(file, "[\n%s\n]\n", team_.record->events().c_str()) > 0;
  if (file != nullptr) written &= fclose(file) == 0;
  // Always printed, because the user requested the timeline and it is lost.
  static std::atomic<bool> has_warned = false;
  if (!written && !has_warned.exchange(true))
    fprintf(stderr,
            "libcoll: rank %d: cannot write %s, the file of COLL_TRACE: %s; name a file in a writable directory\n",
            rank(), path.c_str(), strerror(errno));
}

}  // namespace coll::comm
