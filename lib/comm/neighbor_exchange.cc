// SPDX-License-Identifier: BSD-3-Clause
// Sparse exchanges on a communicator: blocking calls, and the exchange as the run of a request.
#include "exec/neighbor_exchange.h"

#include "comm/comm.h"

namespace coll::comm {

coll_status Comm::perform_exchange(const Call& call) {
  exec::NeighborExchange& exchange = *call.exchange;
  if (ranks() == 1) {
    exchange.copy_own();
    return verdict(exchange);
  }
  coll_status status = exchange.begin(blocking_);
  if (status == COLL_OK) status = exchange.finish();
  return status == COLL_OK ? verdict(exchange) : report(status);
}

coll_status Comm::verdict(const exec::NeighborExchange& exchange) const {
  const coll_status status = exchange.verdict();
  return status == COLL_OK ? status : failure(status, exchange.problem());
}

size_t Request::staging_bytes(int ranks) const {
  return call_.exchange != nullptr ? exec::NeighborExchange::staging_bytes(ranks) : running_->plan().staging_bytes;
}

coll_status Request::begin(exec::Channel& channel) {
  return call_.exchange != nullptr ? call_.exchange->begin(channel) : run_.begin(*running_, channel, arguments_);
}

exec::Run::Progress Request::advance() {
  return call_.exchange != nullptr ? call_.exchange->advance() : run_.advance();
}

bool Request::idle(sync::WaitStage stage) {
  return call_.exchange != nullptr ? call_.exchange->idle(stage) : run_.idle(stage);
}

exec::AwaitedPost Request::awaited() const {
  return call_.exchange != nullptr ? call_.exchange->awaited() : run_.awaited();
}

coll_status Request::run_status() const { return call_.exchange != nullptr ? call_.exchange->status() : run_.status(); }

}  // namespace coll::comm
