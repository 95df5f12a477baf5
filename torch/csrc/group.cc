// SPDX-License-Identifier: BSD-3-Clause
#include "group.h"

#include <cstring>
#include <fstream>
#include <unistd.h>
#include <vector>

namespace torch_coll {
namespace {

using Bytes = std::vector<uint8_t>;

// An allgather through a Store: rank 0 collects and publishes, so that each other rank writes one key and reads one.
class Exchange {
 public:
  Exchange(c10d::Store& store, std::string name, int rank, int ranks)
      : store_(store), name_(std::move(name)), rank_(rank), ranks_(ranks) {}

  Bytes allgather(const Bytes& mine) {
    const std::string round = name_ + "/" + std::to_string(round_++) + "/";
    if (rank_ != 0) {
      store_.set(round + std::to_string(rank_), mine);
      return store_.get(round + "all");
    }
    Bytes all = mine;
    for (int r = 1; r < ranks_; r++) {
      const Bytes theirs = store_.get(round + std::to_string(r));
      TORCH_CHECK(theirs.size() == mine.size(), "coll: rank ", r, " sent ", theirs.size(), " bytes instead of ",
                  mine.size());
      all.insert(all.end(), theirs.begin(), theirs.end());
    }
    store_.set(round + "all", all);
    return all;
  }

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  std::exception_ptr raised;

 private:
  c10d::Store& store_;
  std::string name_;
  int rank_, ranks_, round_ = 0;
};

int exchange(const void* send, void* recv, size_t bytes, void* context) {
  auto& store = *static_cast<Exchange*>(context);
  try {
    const auto* first = static_cast<const uint8_t*>(send);
    const Bytes all = store.allgather(Bytes(first, first + bytes));
    memcpy(recv, all.data(), all.size());
    return 0;
  } catch (...) {  // must not cross libcoll; the caller throws it again
    store.raised = std::current_exception();
    return 1;
  }
}

// Identifies the node: the identifier of the boot, in a fixed number of bytes. Two machines never have the same one,
// containers of one machine do.
Bytes node_name() {
  std::string name;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> name;
  if (name.empty()) {
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    name = host;
  }
  Bytes bytes(name.begin(), name.end());
  bytes.resize(256);
  return bytes;
}

}  // namespace

bool on_one_node(c10d::Store& store, int rank, int ranks) {
  const Bytes mine = node_name();
  const Bytes all = Exchange(store, "coll/node", rank, ranks).allgather(mine);
  for (size_t at = 0; at < all.size(); at += mine.size())
    if (memcmp(all.data() + at, mine.data(), mine.size()) != 0) return false;
  return true;
}

Group::Group(c10d::Store& store, int rank, int ranks) : rank_(rank), size_(ranks) {
  Exchange context(store, "coll/comm", rank, ranks);
  const coll_bootstrap bootstrap{sizeof(coll_bootstrap), rank, ranks, exchange, &context};
  const coll_status status = coll_comm_create(&bootstrap, &comm_);
  if (context.raised) std::rethrow_exception(context.raised);
  TORCH_CHECK(status == COLL_OK, "coll: ", coll_last_error());
}

Group::~Group() { coll_comm_free(comm_); }

void Group::abort(const std::string& why, Failure failure) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (aborted_.empty()) aborted_ = why;
    if (failure_ == Failure::none) failure_ = failure;
  }
  coll_comm_abort(comm_, COLL_ERR_ABORTED);
}

std::string Group::aborted() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return aborted_;
}

void Group::note(coll_status status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (failure_ != Failure::none) return;
  if (status == COLL_ERR_PEER_DIED || status == COLL_ERR_ABORTED) failure_ = Failure::peer;
  else if (status == COLL_ERR_SYSTEM) failure_ = Failure::here;
}

Failure Group::failure() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

}  // namespace torch_coll
