// SPDX-License-Identifier: BSD-3-Clause
// One collective call: it is served by libcoll or forwarded to the MPI library.
#pragma once

#include "mpi/communicators.h"
#include "mpi/errors.h"
#include "mpi/probing.h"
#include "mpi/spending.h"

#include <climits>
#include <new>

namespace coll::shim {

// The result of an intercept_... function, instead of an MPI error code, if the call is to be forwarded.
constexpr int not_intercepted = INT_MIN;

class Call {
 public:
  // `count` elements of `datatype` are the size of the call in statistics; -1 if counts differ between ranks.
  Call(Collective collective, MPI_Comm comm, MPI_Count count, MPI_Datatype datatype)
      : collective_(collective),
        count_(count),
        datatype_(datatype),
        comm_(comm),
        communicator_(recent(comm)),
        result_(not_intercepted) {}

  // False if the call is forwarded whatever its arguments are: on a communicator that libcoll does not serve, or
  // outside MPI_Init ... MPI_Finalize.
  bool possible() const { return communicator_ != nullptr ? communicator_->intercepts() : prepare(); }
  int impossible() { return decline(communicator_ != nullptr ? communicator_->why : why_without_state(comm_)); }

  int decline(Why why) {
    count_forwarded(communicator_, collective_, why);
    if (counts_calls()) [[unlikely]]
      announce_forwarded(collective_, why, count_, datatype_);
    return not_intercepted;
  }

  // Called when the arguments that are equal on all ranks allow interception; `root` is 0 if there is none. Collective
  // if the communicator is new. Returns false if the call must return result().
  bool join(int root) {
    if (communicator_ == nullptr) [[unlikely]] {
      const auto [communicator, result] = meet(comm_, root, collective_);
      communicator_ = communicator;
      result_ = result;
      if (result != not_intercepted) return false;
      if (communicator_ == nullptr || !communicator_->intercepts()) return impossible(), false;
    }
    if (communicator_->agreement_state != AgreementState::decided) [[unlikely]]
      if (const Why why = admit(comm_, *communicator_); why != Why::count_) return decline(why), false;
    if (root < 0 || root >= communicator_->ranks) return decline(Why::arguments), false;
    return true;
  }
  int result() const { return result_; }

  Communicator &communicator() const { return *communicator_; }
  // NULL unless the communicator is over several nodes.
  Nodes *nodes() const { return communicator_->nodes.get(); }
  int rank() const { return communicator_->rank; }
  int ranks() const { return communicator_->ranks; }

  // Ends an intercepted call.
  int finish(coll_status status) {
    communicator_->tally.intercepted[collective_]++;
    return fail(status);
  }

  // Ends a call that has been counted already, for instance because unpacking failed afterwards.
  int fail(coll_status status) {
    return status == COLL_OK ? MPI_SUCCESS : finish_failed(comm_, status, mpi_name(collective_));
  }

  // Performs the call: by `whole(coll_comm *)` on one node, which returns a status, or by `levels(Nodes &)` on several,
  // which throws Failure.
  template <typename Whole, typename Levels>
  int carry_out(Whole whole, Levels levels) {
    note_served();
    const Serving serving(collective_);
    if (communicator_->coll != nullptr) [[likely]]
      return finish(whole(communicator_->coll));
    communicator_->tally.intercepted[collective_]++;
    try {
      levels(*communicator_->nodes);
      return MPI_SUCCESS;
    } catch (const Failure &failure) {
      return shim::finish(comm_, failure, mpi_name(collective_));
    } catch (const std::bad_alloc &) { return fail(COLL_ERR_NO_MEMORY); }
  }

 protected:
  struct Met {
    Communicator *communicator;
    int result;  // not_intercepted, or an MPI error code
  };

  // Static and not inlined: if the address of a member escaped, the compiler would reload members after every call.
  [[gnu::noinline]] static Met meet(MPI_Comm comm, int root, Collective collective) {
    try {
      return {acquire(comm, root), not_intercepted};
    } catch (const std::bad_alloc &) {
      return {nullptr, finish_failed(comm, COLL_ERR_NO_MEMORY, mpi_name(collective))};
    }
  }

  Collective collective_;
  MPI_Count count_;
  MPI_Datatype datatype_;
  MPI_Comm comm_;
  Communicator *communicator_;
  int result_;
};

}  // namespace coll::shim
