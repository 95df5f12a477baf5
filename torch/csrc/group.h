// SPDX-License-Identifier: BSD-3-Clause
// One rank's communicator of libcoll, created through torch's Store. It exists until the backend and the last work have
// been destroyed.
#pragma once

#include <mutex>
#include <string>

#include <coll/coll.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "compat.h"

namespace torch_coll {

// How a group became unusable: by a timeout of this rank, another failure or abort of this rank, or one of a peer.
enum class Failure { none, timeout, here, peer };

class Group {
 public:
  // Collective. Throws the error of libcoll.
  Group(c10d::Store& store, int rank, int ranks);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  coll_comm* comm() const { return comm_; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  // Ends all waiting on every rank; works of this rank report `why`. Only the first call has an effect.
  void abort(const std::string& why, Failure failure = Failure::here);
  // Why this rank has aborted; "" if it has not.
  std::string aborted() const;

  // Records the status of a failed collective: it may make the communicator unusable.
  void note(coll_status status);
  // The first failure that made the group unusable. A group without active collectives does not notice a dead peer.
  Failure failure() const;

 private:
  coll_comm* comm_ = nullptr;
  int rank_, size_;
  mutable std::mutex mutex_;
  std::string aborted_;
  Failure failure_ = Failure::none;
};

// Returns whether all ranks run on one node, by the boot identifiers of their kernels. Collective.
bool on_one_node(c10d::Store& store, int rank, int ranks);

}  // namespace torch_coll
