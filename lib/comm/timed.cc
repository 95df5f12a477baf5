// SPDX-License-Identifier: BSD-3-Clause
// Collectives with their time taken, for statistics.
#include "comm/comm.h"
#include "comm/stats.h"

namespace coll::comm {

const char* Comm::transport(const exec::Run& run) const { return run.used_mapped_memory() ? "mapped" : transport(); }

namespace {

// Of a v-form: what this rank knows of.
size_t bytes_of(const Call& call) { return call.pieces != nullptr ? call.pieces->total() : call.bytes(); }

}  // namespace

const char* Comm::transport() const {
  switch (team_.reach) {
    case exec::Reach::direct: return "mapped";
    case exec::Reach::remote: return team_.access->name();
    case exec::Reach::staged: return "shm";
  }
  return "?";
}

coll_status Comm::perform_timed(const Call& call) {
  const double begin = stats::now_seconds();
  const coll_status status = perform_now(call);
  const double seconds = stats::now_seconds() - begin;
  if (status != COLL_OK) return status;
  const bool latency = is_tuned(call) ? took_latency_path_ : takes_latency_path(call);
  const bool nothing = call.empty() || (ranks() == 1 && call.collective == plan::Collective::barrier);
  std::string_view algorithm = nothing        ? "nothing to do"
                               : ranks() == 1 ? "one rank"
                               : latency      ? "latency"
                                              : std::string_view(blocking_run_.bound()->plan().algorithm);
  const bool by_plan = !nothing && ranks() > 1 && !latency;
  stats::record(plan::name(call.collective), bytes_of(call), seconds, algorithm,
                by_plan ? transport(blocking_run_) : transport());
  return status;
}

void Comm::count(const Request& request) const {
  if (request.status_ != COLL_OK) return;
  stats::record(plan::name(request.call_.collective), bytes_of(request.call_), stats::now_seconds() - request.started_,
                std::string(request.running_->plan().algorithm) + " (request)", transport(request.run_));
}

}  // namespace coll::comm
