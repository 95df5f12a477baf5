// SPDX-License-Identifier: BSD-3-Clause
// The start of one non-blocking collective: it is served by libcoll or forwarded. As Call, but local. Also the
// creation of a persistent request, which may wait for the peers: the ranks agree whether all of them can create it.
#pragma once

#include "mpi/call.h"
#include "mpi/persistent.h"
#include "mpi/requests.h"

#include <memory>
#include <new>
#include <utility>

namespace coll::shim {

class StartCall : public Call {
 public:
  StartCall(Collective collective, MPI_Comm comm, MPI_Count count, MPI_Datatype datatype, Target target)
      : Call(target.is_persistent ? persistent_form(collective) : collective, comm, count, datatype), target_(target) {}

  bool persistent() const { return target_.is_persistent; }
  // Selects libcoll's non-blocking or persistent function; both have the same arguments.
  template <typename Form>
  Form *form(Form *nonblocking, Form *persistent) const {
    return target_.is_persistent ? persistent : nonblocking;
  }

  bool possible() const { return Call::possible() && requests_work; }
  int impossible() { return Call::possible() && !requests_work ? decline(Why::progress) : Call::impossible(); }

  // As Call::join(), but local: collectives are forwarded until the ranks have agreed. For a persistent request it is
  // not local, and after it this rank owes the others its vote.
  bool join(int root) {
    if (target_.is_persistent) {
      if (!Call::join(root)) return false;
    } else {
      if (communicator_ == nullptr) [[unlikely]] {
        const auto [communicator, result] = meet_locally(comm_, root, collective_);
        communicator_ = communicator;
        result_ = result;
        if (result != not_intercepted) return false;
        if (communicator_ == nullptr || !communicator_->intercepts()) return impossible(), false;
      }
      if (communicator_->agreement_state != AgreementState::decided) [[unlikely]]
        if (const Why why = admit_locally(*communicator_); why != Why::count_) return decline(why), false;
    }
    if (communicator_->coll == nullptr) return decline(Why::nodes), false;
    owes_vote_ = target_.is_persistent;
    if (root < 0 || root >= communicator_->ranks || target_.request == nullptr) return decline(Why::arguments), false;
    return true;
  }

  int decline(Why why) {
    if (std::exchange(owes_vote_, false)) all_agree(communicator_->coll, false);
    return Call::decline(why);
  }
  // Fails before anything has been started.
  int fail(coll_status status) { return owes_vote_ ? decline(Why::others) : Call::fail(status); }

  // Starts the collective, or creates the persistent request, by `start(coll_comm *, coll_request **)`.
  template <typename Start>
  int begin(Start start, Kept kept = {}) {
    if (target_.is_persistent) return make(start, std::move(kept));
    const Serving serving(collective_);
    std::unique_ptr<Started> started(new (std::nothrow) Started);
    if (started == nullptr) return fail(COLL_ERR_NO_MEMORY);
    started->kept = std::move(kept);
    if (const coll_status status = start(communicator_->coll, &started->collective); status != COLL_OK)
      return fail(status);
    communicator_->tally.intercepted[collective_]++;
    return enter(std::move(started), target_.request);
  }

 private:
  [[gnu::noinline]] static Met meet_locally(MPI_Comm comm, int root, Collective collective) {
    try {
      return {acquire_locally(comm, root), not_intercepted};
    } catch (const std::bad_alloc &) {
      return {nullptr, finish_failed(comm, COLL_ERR_NO_MEMORY, mpi_name(collective))};
    }
  }

  template <typename Start>
  int make(Start start, Kept kept) {
    coll_comm *const coll = communicator_->coll;
    std::unique_ptr<Persistent> made = Persistent::make(collective_);
    owes_vote_ = false;
    if (!all_agree(coll, made != nullptr)) return Call::decline(Why::others);
    const Serving serving(collective_);
    made->kept = std::move(kept);
    const bool good = made->make_communicator(coll, communicator_->rank) == COLL_OK &&
                      start(made->own(), &made->collective) == COLL_OK;
    if (!all_agree(coll, good)) return Call::decline(Why::others);
    communicator_->tally.intercepted[collective_]++;
    return Persistent::publish(made, target_.request) ? MPI_SUCCESS : Call::fail(COLL_ERR_NO_MEMORY);
  }

  Target target_;
  bool owes_vote_ = false;  // for a persistent request, after join()
};

}  // namespace coll::shim
