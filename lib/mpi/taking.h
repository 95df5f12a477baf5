// SPDX-License-Identifier: BSD-3-Clause
// How one collective call finds its way: to libcoll, or on to the library below.
#pragma once

#include "mpi/communicators.h"
#include "mpi/errors.h"
#include "mpi/probing.h"
#include "mpi/spending.h"

#include <climits>
#include <new>

namespace coll::shim {

// What a take_... function returns instead of an MPI error code when the library below is to have the call.
constexpr int passed_on = INT_MIN;

class Taking {
 public:
  // `count` of `datatype` is what statistics call the size of the call; -1 where the ranks' counts differ.
  Taking(Collective collective, MPI_Comm comm, MPI_Count count, MPI_Datatype datatype)
      : collective_(collective),
        count_(count),
        datatype_(datatype),
        comm_(comm),
        communicator_(recent(comm)),
        result_(passed_on) {}

  // A communicator that is known to be passed on, and whoever calls outside MPI_Init ... MPI_Finalize, needs no
  // look at the arguments.
  bool possible() const { return communicator_ != nullptr ? communicator_->takes() : prepare(); }
  int impossible() { return pass_on(communicator_ != nullptr ? communicator_->why : unkept(comm_)); }

  int pass_on(Why why) {
    count_passed(communicator_, collective_, why);
    if (counts_calls) [[unlikely]]
      announce_forwarded(collective_, why, count_, datatype_);
    return passed_on;
  }

  // Once the arguments that are equal at all ranks allow it; `root` 0 where there is none. Collective when the
  // communicator is new. False: result() is what to return.
  bool join(int root) {
    if (communicator_ == nullptr) [[unlikely]] {
      const auto [communicator, result] = meet(comm_, root, collective_);
      communicator_ = communicator;
      result_ = result;
      if (result != passed_on) return false;
      if (communicator_ == nullptr || !communicator_->takes()) return impossible(), false;
    }
    if (communicator_->standing != Standing::settled) [[unlikely]]
      if (const Why why = settle(comm_, *communicator_); why != Why::count_) return pass_on(why), false;
    if (root < 0 || root >= communicator_->ranks) return pass_on(Why::arguments), false;
    return true;
  }
  int result() const { return result_; }

  Communicator &communicator() const { return *communicator_; }
  // Of a communicator over several nodes, otherwise NULL.
  Nodes *nodes() const { return communicator_->nodes.get(); }
  int rank() const { return communicator_->rank; }
  int ranks() const { return communicator_->ranks; }

  // The end of a call that was taken.
  int finish(coll_status status) {
    communicator_->tally.taken[collective_]++;
    return fail(status);
  }

  // The same for a call that was carried out, and then failed after all.
  int fail(coll_status status) {
    return status == COLL_OK ? MPI_SUCCESS : finish_failed(comm_, status, mpi_name(collective_));
  }

  // Takes the call: `whole(coll_comm *)` on one node, `levels(Nodes &)` on several. The one returns a status, the other
  // throws Trouble.
  template <typename Whole, typename Levels>
  int carry_out(Whole whole, Levels levels) {
    note_served();
    const Serving serving(collective_);
    if (communicator_->coll != nullptr) [[likely]]
      return finish(whole(communicator_->coll));
    communicator_->tally.taken[collective_]++;
    try {
      levels(*communicator_->nodes);
      return MPI_SUCCESS;
    } catch (const Trouble &trouble) {
      return shim::finish(comm_, trouble, mpi_name(collective_));
    } catch (const std::bad_alloc &) { return fail(COLL_ERR_NO_MEMORY); }
  }

 protected:
  struct Met {
    Communicator *communicator;
    int result;  // passed_on, or the error
  };

  // Apart, and of no object: members whose address is given away are loaded anew after every call.
  [[gnu::noinline]] static Met meet(MPI_Comm comm, int root, Collective collective) {
    try {
      return {acquire(comm, root), passed_on};
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
