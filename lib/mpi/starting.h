// SPDX-License-Identifier: BSD-3-Clause
// How the start of one non-blocking collective finds its way: to libcoll, or on to the library below. As Taking, but
// local.
#pragma once

#include "mpi/requests.h"
#include "mpi/taking.h"

#include <memory>
#include <new>
#include <utility>

namespace coll::shim {

class Starting : public Taking {
 public:
  Starting(Collective collective, MPI_Comm comm, MPI_Count count, MPI_Datatype datatype, MPI_Request *request)
      : Taking(collective, comm, count, datatype), request_(request) {}

  bool possible() const { return Taking::possible() && requests_work; }
  int impossible() { return Taking::possible() && !requests_work ? pass_on(Why::progress) : Taking::impossible(); }

  // As Taking::join(), but local: collectives are forwarded until the ranks have agreed.
  bool join(int root) {
    if (communicator_ == nullptr) [[unlikely]] {
      const auto [communicator, result] = meet_locally(comm_, root, collective_);
      communicator_ = communicator;
      result_ = result;
      if (result != passed_on) return false;
      if (communicator_ == nullptr || !communicator_->takes()) return impossible(), false;
    }
    if (communicator_->standing != Standing::settled) [[unlikely]]
      if (const Why why = settle_locally(*communicator_); why != Why::count_) return pass_on(why), false;
    if (communicator_->coll == nullptr) return pass_on(Why::nodes), false;
    if (root < 0 || root >= communicator_->ranks || request_ == nullptr) return pass_on(Why::arguments), false;
    return true;
  }

  // Starts it: `start(coll_comm *, coll_request **)`.
  template <typename Start>
  int begin(Start start, std::unique_ptr<Moved> moved = nullptr, std::shared_ptr<void> operation = nullptr,
            std::unique_ptr<Exchanged> exchange = nullptr) {
    const Serving serving(collective_);
    std::unique_ptr<Started> started(new (std::nothrow) Started);
    if (started == nullptr) return fail(COLL_ERR_NO_MEMORY);
    started->moved = std::move(moved);
    started->operation = std::move(operation);
    started->exchange = std::move(exchange);
    if (const coll_status status = start(communicator_->coll, &started->collective); status != COLL_OK)
      return fail(status);
    communicator_->tally.taken[collective_]++;
    return enter(std::move(started), request_);
  }

 private:
  [[gnu::noinline]] static Met meet_locally(MPI_Comm comm, int root, Collective collective) {
    try {
      return {acquire_locally(comm, root), passed_on};
    } catch (const std::bad_alloc &) {
      return {nullptr, finish_failed(comm, COLL_ERR_NO_MEMORY, mpi_name(collective))};
    }
  }

  MPI_Request *request_;
};

}  // namespace coll::shim
