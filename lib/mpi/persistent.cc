// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/persistent.h"

#include "mpi/errors.h"
#include "mpi/library.h"
#include "mpi/placement.h"
#include "mpi/probing.h"
#include "mpi/spending.h"
#include "mpi/waits.h"

#include <coll/shim.h>

#include <cstdint>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

namespace coll::shim {

std::atomic<int> persistent_requests{0};

namespace {

// Tags of the messages on the communicator of this process alone; tag 0 is that of endless_request(). MPI supports at
// least 32767.
constexpr int most_tags = 32767;

struct Table {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, Persistent *> all;
  std::vector<int> spare_tags;
  int tags = 0;

  // Returns 0 if no tag is left. Throws std::bad_alloc.
  int take_tag() {
    const std::lock_guard lock(mutex);
    if (spare_tags.empty()) {
      if (tags == most_tags) return 0;
      spare_tags.reserve(static_cast<std::size_t>(tags) + 1);  // so that returning a tag does not throw
      return ++tags;
    }
    const int tag = spare_tags.back();
    spare_tags.pop_back();
    return tag;
  }
};

// Never destroyed: threads may use it until the process exits.
Table &table() {
  static auto *only = new Table;
  return *only;
}

char no_data;

// The communicator on which this process sends messages to itself. Not one of one rank under MPICH, whose waits do not
// notice that a message on such a communicator has completed a request.
struct Channel {
  MPI_Comm comm;
  int rank;
};
#ifdef OPEN_MPI
bool find_channel(Channel *channel) {
  *channel = {private_communicator(), 0};
  return true;
}
#else
bool find_channel(Channel *channel) {
  channel->comm = private_world();
  return channel->comm != MPI_COMM_NULL && mpi.Comm_rank(channel->comm, &channel->rank) == MPI_SUCCESS &&
         mpi.Comm_set_errhandler(channel->comm, mpi.errors_return) == MPI_SUCCESS;
}
#endif

}  // namespace

bool all_agree(coll_comm *coll, bool yes) {
  const std::int32_t own = yes ? 1 : 0;
  std::int32_t all = 0;
  return coll_allreduce(&own, &all, 1, COLL_INT32, COLL_MIN, coll) == COLL_OK && all == 1;
}

std::unique_ptr<Persistent> Persistent::make(Collective collective) try {
  Channel channel;
  if (!progress_calls_mpi() || !find_channel(&channel)) return nullptr;
  auto made = std::make_unique<Persistent>();
  made->collective_ = collective;
  made->tag_ = table().take_tag();
  if (made->tag_ == 0) return nullptr;
  if (mpi.Recv_init(&no_data, 0, mpi.byte, channel.rank, made->tag_, channel.comm, &made->handle) != MPI_SUCCESS)
    return nullptr;
  made->has_handle_ = true;
  return made;
} catch (const std::bad_alloc &) { return nullptr; }

Persistent::~Persistent() {
  coll_request_free(collective);
  coll_comm_free(own_);
  if (has_handle_ && !published_) mpi.Request_free(&handle);
  if (tag_ == 0) return;
  const std::lock_guard lock(table().mutex);
  table().spare_tags.push_back(tag_);
}

bool Persistent::publish(std::unique_ptr<Persistent> &made, MPI_Request *request) try {
  const std::lock_guard lock(table().mutex);
  table().all[handle_bits(made->handle)] = made.get();
  made->published_ = true;
  *request = made->handle;
  note_started(made.release()->handle, COLL_STATS_SERVED);
  persistent_requests.fetch_add(1, std::memory_order_relaxed);
  return true;
} catch (const std::bad_alloc &) { return false; }

Persistent *look_up_persistent(MPI_Request request) {
  const std::lock_guard lock(table().mutex);
  const auto place = table().all.find(handle_bits(request));
  return place != table().all.end() ? place->second : nullptr;
}

int Persistent::start() {
  if (const int code = mpi.Start(&handle); code != MPI_SUCCESS) return code;
  if (collective_ == barrier_init) flush_sends();
  {
    const std::lock_guard lock(table().mutex);
    running_ = true;
  }
  status = kept.load();
  if (status == COLL_OK) {
    if (counts_calls()) coll_stats_inside(mpi_name(collective_));
    status = coll_start(collective);
    if (counts_calls()) coll_stats_inside(nullptr);
  }
  if (status == COLL_OK) {
    advance(this);
    return MPI_SUCCESS;
  }
  const int code = error_code(status);
  end();
  return code;
}

// On an error the handler of MPI_COMM_WORLD is called first; then the receive gets a message that is too long for it,
// so the wait returns MPI_ERR_TRUNCATE.
void Persistent::end() {
  const int bytes = status == COLL_OK ? 0 : 1;
  if (status != COLL_OK) finish_failed(mpi.world, status, mpi_name(collective_));
  const int tag = tag_;
  bool freed;
  {
    const std::lock_guard lock(table().mutex);
    running_ = false;
    freed = freed_;
  }
  // After the send another thread may free this object, unless it was freed before.
  Channel channel;
  if (find_channel(&channel)) mpi.Send(&no_data, bytes, mpi.byte, channel.rank, tag, channel.comm);
  if (freed) delete this;
}

void Persistent::free() {
  note_freed(handle);
  {
    const std::lock_guard lock(table().mutex);
    table().all.erase(handle_bits(handle));
    persistent_requests.fetch_sub(1, std::memory_order_relaxed);
    freed_ = true;
    if (running_) return;
  }
  delete this;
}

void free_persistent() {
  std::vector<Persistent *> left;
  {
    const std::lock_guard lock(table().mutex);
    for (const auto &[bits, one] : table().all)
      if (!one->is_running()) left.push_back(one);
  }
  for (Persistent *one : left) one->free();
}

}  // namespace coll::shim
