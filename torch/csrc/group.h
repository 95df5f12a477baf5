// SPDX-License-Identifier: BSD-3-Clause
// One rank's communicator of libcoll, made through torch's Store. It lives until the backend and the last work are
// gone.
#pragma once

#include <mutex>
#include <string>

#include <coll/coll.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "compat.h"

namespace torch_coll {

class Group {
 public:
  // Collective. Throws what libcoll says.
  Group(c10d::Store& store, int rank, int ranks);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  coll_comm* comm() const { return comm_; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  // Ends all waiting on every rank; `why` is what the works of this rank report. The first call counts.
  void abort(const std::string& why);
  // Why this rank has aborted; "" if it has not.
  std::string aborted() const;

 private:
  coll_comm* comm_ = nullptr;
  int rank_, size_;
  mutable std::mutex mutex_;
  std::string aborted_;
};

// Whether all ranks run on one node, as their kernels' boot identifiers say. Collective.
bool on_one_node(c10d::Store& store, int rank, int ranks);

}  // namespace torch_coll
