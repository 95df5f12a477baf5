// SPDX-License-Identifier: BSD-3-Clause
#include "exec/latency.h"

#include <algorithm>

#include "mem/copy.h"

namespace coll::exec {

namespace {

Cell& cell_of(Channel& channel, int rank) {
  return channel.members[size_t(rank)].memory->cell[channel.operation % cells];
}

constexpr size_t lines_of(size_t payload_bytes) {
  return (offsetof(Cell, payload) + payload_bytes + sync::line_bytes - 1) / sync::line_bytes;
}

// Ends the operation. A rank that wrote this time will probably do so the next time and takes those lines back early.
void leave(Channel& channel, bool synchronizing, bool wrote, size_t bytes) {
  if (wrote) {
    auto* line = reinterpret_cast<const char*>(&channel.own().memory->cell[(channel.operation + 1) % cells]);
    for (size_t i = 0; i < lines_of(bytes); i++) sync::fetch_for_writing(line + i * sync::line_bytes);
  }
  channel.end(synchronizing, 0);
}

void fill(Channel& channel, const void* data, size_t bytes) {
  Cell& cell = cell_of(channel, channel.team->rank);
  mem::copy(cell.payload, data, bytes);
  cell.sequence.store(channel.operation, std::memory_order_release);
  channel.team->posted();
}

// The first line says when the payload is there. The second is asked for together with it: ranks that arrive together
// find it written. More are not: a line that is read too early is taken from its writer, who then waits for it, and so
// does everybody else.
void ask_for_second_line(Channel& channel, int rank, size_t bytes) {
  if (lines_of(bytes) == 2)
    __builtin_prefetch(reinterpret_cast<const char*>(&cell_of(channel, rank)) + sync::line_bytes);
}
coll_status await(Channel& channel, int rank) {
  return channel.team->wait(cell_of(channel, rank).sequence, channel.operation, rank);
}

constexpr int most_ranks = 64;

// What a rank shows the others; nothing, not even that it is there, without `shown`.
struct Shown {
  bool shown;
  const void* data;
  size_t bytes;
};
// The ranks from first up to last, of whom the own one is not waited for. One of them shows `bytes`.
struct From {
  int first, last;
  size_t bytes;
};

// The form of all of them: shows what the own rank has, waits for others, takes what they show.
template <typename Take>
coll_status exchange(Channel& channel, const Shown& own, const From& from, bool synchronizing, Take take) {
  coll_status status = channel.begin_cell();
  if (status != COLL_OK) return status;
  const int rank = channel.team->rank;
  if (own.shown) fill(channel, own.data, own.bytes);
  for (int other = from.first; other < from.last; other++)
    if (other != rank) ask_for_second_line(channel, other, from.bytes);
  for (int other = from.first; other < from.last; other++)
    if (other != rank && (status = await(channel, other)) != COLL_OK) return status;
  take();
  leave(channel, synchronizing, own.shown, own.bytes);
  return COLL_OK;
}

// The operands of ranks 0 .. last - 1, each `offset` bytes into what its rank shows; the own one in the caller's memory.
void fold(Channel& channel, const char* own, void* recv, size_t count, const Reducer& reducer, int last,
          size_t offset = 0) {
  const void* sources[most_ranks];
  for (int rank = 0; rank < last; rank++)
    sources[rank] = rank == channel.team->rank ? own + offset : cell_of(channel, rank).payload + offset;
  reducer(recv, nullptr, sources, last, count);
}

void place(void* to, const void* from, size_t bytes) {
  if (to != from) mem::copy(to, from, bytes);
}

const char* bytes_of(const void* data) { return static_cast<const char*>(data); }
char* bytes_of(void* data) { return static_cast<char*>(data); }

// Block r of recv is what rank r shows, from `offset` on.
void collect(Channel& channel, const void* own, void* recv, size_t bytes, size_t offset = 0) {
  for (int rank = 0; rank < channel.team->ranks; rank++)
    place(bytes_of(recv) + size_t(rank) * bytes,
          (rank == channel.team->rank ? bytes_of(own) : cell_of(channel, rank).payload) + offset, bytes);
}

}  // namespace

coll_status latency_barrier(Channel& channel) {
  return exchange(channel, {true, nullptr, 0}, {0, channel.team->ranks, 0}, true, [] {});
}

coll_status latency_bcast(Channel& channel, void* buffer, size_t bytes, int root) {
  const bool sends = root == channel.team->rank;
  return exchange(channel, {sends, buffer, bytes}, {root, root + 1, bytes}, false, [&] {
    if (!sends) mem::copy(buffer, cell_of(channel, root).payload, bytes);
  });
}

coll_status latency_reduce(Channel& channel, const void* send, void* recv, size_t count, const Reducer& reducer,
                           int root) {
  const size_t bytes = count * reducer.element_bytes;
  const int last = root == channel.team->rank ? channel.team->ranks : 0;
  return exchange(channel, {last == 0, send, bytes}, {0, last, bytes}, false, [&] {
    if (last != 0) fold(channel, bytes_of(send), recv, count, reducer, last);
  });
}

coll_status latency_allreduce(Channel& channel, const void* send, void* recv, size_t count, const Reducer& reducer) {
  const size_t bytes = count * reducer.element_bytes;
  const int ranks = channel.team->ranks;
  return exchange(channel, {true, send, bytes}, {0, ranks, bytes}, true,
                  [&] { fold(channel, bytes_of(send), recv, count, reducer, ranks); });
}

coll_status latency_scatter(Channel& channel, const void* send, void* recv, size_t bytes, int root) {
  const int rank = channel.team->rank;
  const bool sends = root == rank;
  const size_t all = bytes * size_t(channel.team->ranks), own = bytes * size_t(rank);
  return exchange(channel, {sends, send, all}, {root, root + 1, all}, false,
                  [&] { place(recv, (sends ? bytes_of(send) : cell_of(channel, root).payload) + own, bytes); });
}

coll_status latency_gather(Channel& channel, const void* send, void* recv, size_t bytes, int root) {
  const bool sends = root != channel.team->rank;
  return exchange(channel, {sends, send, bytes}, {0, sends ? 0 : channel.team->ranks, bytes}, false, [&] {
    if (!sends) collect(channel, send, recv, bytes);
  });
}

coll_status latency_allgather(Channel& channel, const void* send, void* recv, size_t bytes) {
  return exchange(channel, {true, send, bytes}, {0, channel.team->ranks, bytes}, true,
                  [&] { collect(channel, send, recv, bytes); });
}

coll_status latency_alltoall(Channel& channel, const void* send, void* recv, size_t bytes) {
  const size_t all = bytes * size_t(channel.team->ranks);
  return exchange(channel, {true, send, all}, {0, channel.team->ranks, all}, true,
                  [&] { collect(channel, send, recv, bytes, bytes * size_t(channel.team->rank)); });
}

coll_status latency_reduce_scatter(Channel& channel, const void* send, void* recv, size_t count,
                                   const Reducer& reducer) {
  const int ranks = channel.team->ranks;
  const size_t block = count * reducer.element_bytes, all = block * size_t(ranks);
  return exchange(channel, {true, send, all}, {0, ranks, all}, true, [&] {
    fold(channel, bytes_of(send), recv, count, reducer, ranks, block * size_t(channel.team->rank));
  });
}

coll_status latency_scan(Channel& channel, const void* send, void* recv, size_t count, const Reducer& reducer,
                         bool with_own) {
  const int rank = channel.team->rank, last = with_own ? rank + 1 : rank;
  const size_t bytes = count * reducer.element_bytes;
  return exchange(channel, {rank + 1 < channel.team->ranks, send, bytes}, {0, last, bytes}, false, [&] {
    if (last > 0) fold(channel, bytes_of(send), recv, count, reducer, last);
  });
}

coll_status latency_agree(Channel& channel, uint64_t signature, int* differs) {
  *differs = -1;
  coll_status status = channel.begin_cell();
  if (status != COLL_OK) return status;
  const Team& team = *channel.team;
  cell_of(channel, team.rank).check = signature;
  fill(channel, nullptr, 0);
  for (int rank = 0; rank < team.ranks; rank++)
    if (rank != team.rank && (status = await(channel, rank)) != COLL_OK) return status;
  for (int rank = team.ranks - 1; rank >= 0; rank--)
    if (cell_of(channel, rank).check != signature && rank != team.rank) *differs = rank;
  leave(channel, true, true, 0);
  return *differs < 0 ? COLL_OK : COLL_ERR_MISMATCH;
}

}  // namespace coll::exec
