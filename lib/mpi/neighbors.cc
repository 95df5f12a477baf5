// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/neighbors.h"

#include "mpi/library.h"
#include "mpi/neighborhood.h"
#include "mpi/start_call.h"

#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace coll::shim {
namespace {

// In a larger communicator, a rank might have more peers than coll_neighbor_exchange() accepts.
constexpr int most_ranks = 2048;

const Neighborhood *neighborhood_of(MPI_Comm comm, Communicator &communicator) {
  if (communicator.neighborhood == nullptr) {
    auto made = std::make_shared<Neighborhood>();
    if (!find_neighborhood(comm, communicator.rank, made.get())) return nullptr;
    communicator.neighborhood = std::move(made);
  }
  return communicator.neighborhood.get();
}

// describe() and describe_all() store this rank's part in `exchange`. They return false if the arguments are wrong.
template <typename Count, typename Displ>
bool describe(Collective collective, const Neighborhood &around, const SideArguments<Count, Displ> &send,
              const SideArguments<Count, Displ> &recv, EdgeBuffers &exchange) {
  for (int i = 0; i < static_cast<int>(around.destinations.size()); i++)
    if (const int peer = around.destinations[static_cast<std::size_t>(i)]; peer != MPI_PROC_NULL)
      if (!exchange.out.add(send, i, peer)) return false;
  for (const int i : around.order(collective))
    if (const int peer = around.sources[static_cast<std::size_t>(i)]; peer != MPI_PROC_NULL)
      if (!exchange.in.add(recv, i, peer)) return false;
  return true;
}

template <typename Count, typename Displ>
bool describe_all(int ranks, const SideArguments<Count, Displ> &send, const SideArguments<Count, Displ> &recv,
                  EdgeBuffers &exchange) {
  // In place, the received data replaces the sent data of the same length, so the sent data is copied.
  const bool in_place = send.buffer == MPI_IN_PLACE;
  exchange.out.drops_empty = exchange.in.drops_empty = true;
  for (int peer = 0; peer < ranks; peer++)
    if (!exchange.out.add(in_place ? recv : send, peer, peer, in_place) || !exchange.in.add(recv, peer, peer))
      return false;
  return true;
}

// The thread's memory for blocking calls. The object owns it meanwhile, because an error handler may make another call.
class ThreadBuffers {
 public:
  ThreadBuffers() : own_(std::move(spare)) {
    if (own_ == nullptr) own_ = std::make_unique<EdgeBuffers>();
  }
  ~ThreadBuffers() {
    own_->out.clear();
    own_->in.clear();
    spare = std::move(own_);
  }
  ThreadBuffers(const ThreadBuffers &) = delete;
  ThreadBuffers &operator=(const ThreadBuffers &) = delete;
  EdgeBuffers &exchange() const { return *own_; }

 private:
  static thread_local std::unique_ptr<EdgeBuffers> spare;
  std::unique_ptr<EdgeBuffers> own_;
};
thread_local std::unique_ptr<EdgeBuffers> ThreadBuffers::spare;

// `describe(communicator, exchange)`: as above.
template <typename Describe>
int intercept(Collective collective, MPI_Comm comm, Describe describe) {
  Call call(collective, comm, -1, {});
  if (!call.possible()) return call.impossible();
  if (!call.join(0)) return call.result();
  if (call.nodes() != nullptr) return call.decline(Why::nodes);
  if (call.ranks() > most_ranks) return call.decline(Why::size);
  try {
    const ThreadBuffers lent;
    EdgeBuffers &exchange = lent.exchange();
    if (!describe(call.communicator(), exchange)) return call.decline(Why::arguments);
    exchange.out.take_memory();
    exchange.in.take_memory();
    if (!exchange.out.load()) return call.finish(COLL_ERR_TYPE);
    exchange.out.list(exchange.sends);
    exchange.in.list(exchange.receives);
    return call.carry_out(
        [&](coll_comm *coll) {
          const coll_status status = coll_neighbor_exchange(exchange.sends.data(), exchange.sends.size(),
                                                            exchange.receives.data(), exchange.receives.size(), coll);
          return status == COLL_OK && !exchange.in.store() ? COLL_ERR_TYPE : status;
        },
        [](Nodes &) { /* forwarded above */ });
  } catch (const std::bad_alloc &) { return call.finish(COLL_ERR_NO_MEMORY); }
}

template <typename Describe>
int start(Collective collective, MPI_Comm comm, Target target, Describe describe) {
  StartCall call(collective, comm, -1, {}, target);
  if (!call.possible()) return call.impossible();
  if (!call.join(0)) return call.result();
  if (call.ranks() > most_ranks) return call.decline(Why::size);
  try {
    auto exchange = std::make_unique<EdgeBuffers>();
    if (!describe(call.communicator(), *exchange)) return call.decline(Why::arguments);
    exchange->out.take_memory();
    exchange->in.take_memory();
    if (!exchange->in.keep_types() || (call.persistent() ? !exchange->out.keep_types() : !exchange->out.load()))
      return call.fail(COLL_ERR_TYPE);
    exchange->out.list(exchange->sends);
    exchange->in.list(exchange->receives);
    const auto &sends = exchange->sends;
    const auto &receives = exchange->receives;
    return call.begin(
        [&](coll_comm *coll, coll_request **started) {
          return call.form(coll_ineighbor_exchange, coll_neighbor_exchange_init)(
              sends.data(), sends.size(), receives.data(), receives.size(), coll, started);
        },
        {.exchange = std::move(exchange)});
  } catch (const std::bad_alloc &) { return call.fail(COLL_ERR_NO_MEMORY); }
}

template <typename Count, typename Displ>
auto among_neighbors(Collective collective, MPI_Comm comm, const SideArguments<Count, Displ> &send,
                     const SideArguments<Count, Displ> &recv) {
  return [collective, comm, &send, &recv](Communicator &communicator, EdgeBuffers &exchange) {
    const Neighborhood *around = neighborhood_of(comm, communicator);
    return around != nullptr && describe(collective, *around, send, recv, exchange);
  };
}

template <typename Count, typename Displ>
auto among_all(const SideArguments<Count, Displ> &send, const SideArguments<Count, Displ> &recv) {
  return [&send, &recv](Communicator &communicator, EdgeBuffers &exchange) {
    return describe_all(communicator.ranks, send, recv, exchange);
  };
}

}  // namespace

template <typename Count, typename Displ>
int intercept_neighbors(Collective collective, const SideArguments<Count, Displ> &send,
                        const SideArguments<Count, Displ> &recv, MPI_Comm comm) {
  return intercept(collective, comm, among_neighbors(collective, comm, send, recv));
}

template <typename Count, typename Displ>
int start_neighbors(Collective collective, const SideArguments<Count, Displ> &send,
                    const SideArguments<Count, Displ> &recv, MPI_Comm comm, Target target) {
  return start(collective, comm, target, among_neighbors(collective, comm, send, recv));
}

template <typename Count, typename Displ>
int intercept_alltoallw(const SideArguments<Count, Displ> &send, const SideArguments<Count, Displ> &recv,
                        MPI_Comm comm) {
  return intercept(alltoallw, comm, among_all(send, recv));
}

template <typename Count, typename Displ>
int start_alltoallw(const SideArguments<Count, Displ> &send, const SideArguments<Count, Displ> &recv, MPI_Comm comm,
                    Target target) {
  return start(ialltoallw, comm, target, among_all(send, recv));
}

#define COLL_SHIM_INSTANCES(Count, Displ)                                                                            \
  template int intercept_neighbors(Collective, const SideArguments<Count, Displ> &,                                  \
                                   const SideArguments<Count, Displ> &, MPI_Comm);                                   \
  template int start_neighbors(Collective, const SideArguments<Count, Displ> &, const SideArguments<Count, Displ> &, \
                               MPI_Comm, Target);                                                                    \
  template int intercept_alltoallw(const SideArguments<Count, Displ> &, const SideArguments<Count, Displ> &,         \
                                   MPI_Comm);                                                                        \
  template int start_alltoallw(const SideArguments<Count, Displ> &, const SideArguments<Count, Displ> &, MPI_Comm,   \
                               Target);
COLL_SHIM_INSTANCES(int, int)
COLL_SHIM_INSTANCES(int, MPI_Aint)
COLL_SHIM_INSTANCES(MPI_Count, MPI_Aint)
#undef COLL_SHIM_INSTANCES

}  // namespace coll::shim
