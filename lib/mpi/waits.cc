// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/waits.h"

#include "mpi/library.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>
#include <unordered_map>

namespace coll::shim {
namespace {

struct Table {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, coll_stats_part> parts;
};

// Never destroyed: threads may wait until the process exits.
Table &table() {
  static auto *only = new Table;
  return *only;
}

}  // namespace

// If there is no memory, the request is not counted.
void note_started(MPI_Request request, coll_stats_part part) {
  if (!counts_calls()) [[likely]]
    return;
  const std::lock_guard lock(table().mutex);
  try {
    table().parts[handle_bits(request)] = part;
  } catch (const std::bad_alloc &) { return; }
}

void note_forwarded(MPI_Request request, coll_stats_part part) {
  int flag = 0;
  if (mpi.Request_get_status(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 0)
    note_started(request, part);
}

void note_freed(MPI_Request request) {
  if (!counts_calls()) [[likely]]
    return;
  const std::lock_guard lock(table().mutex);
  table().parts.erase(handle_bits(request));
}

Wait::Wait(const char *function, const std::vector<MPI_Request> &before) : function_(function) {
  const std::lock_guard lock(table().mutex);
  for (std::size_t i = 0; i < before.size(); i++) {
    const auto known = table().parts.find(handle_bits(before[i]));
    if (known == table().parts.end()) continue;
    seen_.push_back({i, before[i]});
    part_ = std::min(part_, known->second);  // served, if one of the requests is
  }
  if (!seen_.empty()) began_ = now_seconds();
}

void Wait::end(const std::vector<MPI_Request> &after) {
  if (seen_.empty()) return;
  coll_stats_spent(function_, part_, now_seconds() - began_);
  for (const Seen &one : seen_)
    if (after[one.place] != one.handle) note_freed(one.handle);
}

}  // namespace coll::shim
