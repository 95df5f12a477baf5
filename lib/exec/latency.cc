// SPDX-License-Identifier: BSD-3-Clause
#include "exec/latency.h"

#include <algorithm>

#include "mem/copy.h"
#include "mem/fetch.h"

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
  if (wrote)
    mem::fetch_for_writing(&channel.own().memory->cell[(channel.operation + 1) % cells],
                           offsetof(Cell, payload) + bytes);
  channel.end(synchronizing, 0);
}

void show(Channel& channel, Cell& cell, uint64_t check) {
  cell.check = check;
  cell.sequence.store(channel.operation, std::memory_order_release);
  channel.team->posted();
}

void fill(Channel& channel, const void* data, size_t bytes, const void* more = nullptr, size_t more_bytes = 0) {
  Cell& cell = cell_of(channel, channel.team->rank);
  mem::copy(cell.payload, data, bytes);
  if (more_bytes != 0) mem::copy(cell.payload + bytes, more, more_bytes);
  show(channel, cell, bytes + more_bytes);
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
  const void* more = nullptr;
  size_t more_bytes = 0;
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
  if (own.shown) fill(channel, own.data, own.bytes, own.more, own.more_bytes);
  for (int other = from.first; other < from.last; other++)
    if (other != rank) ask_for_second_line(channel, other, from.bytes);
  uint64_t most = 0;
  for (int other = from.first; other < from.last; other++)
    if (other != rank) {
      if ((status = await(channel, other)) != COLL_OK) return status;
      most = std::max(most, cell_of(channel, other).check);
    }
  take();
  leave(channel, synchronizing, own.shown, own.bytes + own.more_bytes);
  return most <= from.bytes ? COLL_OK : COLL_ERR_TRUNCATE;
}

// The operands of ranks 0 .. last - 1, the own one in the caller's memory.
void fold(Channel& channel, const void* own, void* recv, size_t count, const Reducer& reducer, int last) {
  const void* sources[most_ranks];
  for (int rank = 0; rank < last; rank++)
    sources[rank] = rank == channel.team->rank ? own : cell_of(channel, rank).payload;
  reducer(recv, nullptr, sources, last, count);
}

// A block for each other rank, beginning with the next one, which finds it in the first line.
Shown blocks_for_others(const Team& team, bool shown, const void* send, size_t bytes) {
  const auto* all = static_cast<const char*>(send);
  const size_t above = size_t(team.ranks - 1 - team.rank), below = size_t(team.rank);
  return {shown, all + (below + 1) * bytes, above * bytes, all, below * bytes};
}
// Where rank `of` shows the block that is for the own rank.
const char* block_from(Channel& channel, int of, size_t bytes) {
  const Team& team = *channel.team;
  const int place = (team.rank - of - 1 + team.ranks) % team.ranks;
  return cell_of(channel, of).payload + size_t(place) * bytes;
}

void place(void* to, const void* from, size_t bytes) {
  if (to != from) mem::copy(to, from, bytes);
}

const char* bytes_of(const void* data) { return static_cast<const char*>(data); }

// Block r of recv is what shown(r) points to, the own one lies in the caller's memory.
template <typename Shows>
void collect(const Team& team, const void* own, void* recv, size_t bytes, Shows shown) {
  for (int rank = 0; rank < team.ranks; rank++)
    place(static_cast<char*>(recv) + size_t(rank) * bytes, rank == team.rank ? own : shown(rank), bytes);
}

}  // namespace

coll_status latency_barrier(Channel& channel) {
  return exchange(channel, {true, nullptr, 0}, {0, channel.team->ranks, 0}, true, [] {});
}

coll_status latency_bcast(Channel& channel, void* buffer, size_t bytes, int root) {
  const bool sends = root == channel.team->rank;
  size_t shown = bytes;
  const coll_status status = exchange(channel, {sends, buffer, bytes}, {root, root + 1, bytes}, false, [&] {
    if (sends) return;
    const Cell& cell = cell_of(channel, root);
    shown = cell.check;
    mem::copy(buffer, cell.payload, std::min(shown, bytes));
  });
  return shown >= bytes ? status : COLL_ERR_COUNT;
}

coll_status latency_reduce(Channel& channel, const void* send, void* recv, size_t count, const Reducer& reducer,
                           int root) {
  const size_t bytes = count * reducer.element_bytes;
  const int last = root == channel.team->rank ? channel.team->ranks : 0;
  return exchange(channel, {last == 0, send, bytes}, {0, last, bytes}, false, [&] {
    if (last != 0) fold(channel, send, recv, count, reducer, last);
  });
}

coll_status latency_allreduce(Channel& channel, const void* send, void* recv, size_t count, const Reducer& reducer) {
  const size_t bytes = count * reducer.element_bytes;
  const int ranks = channel.team->ranks;
  return exchange(channel, {true, send, bytes}, {0, ranks, bytes}, true,
                  [&] { fold(channel, send, recv, count, reducer, ranks); });
}

coll_status latency_scatter(Channel& channel, const void* send, void* recv, size_t bytes, int root) {
  const Team& team = *channel.team;
  const bool sends = root == team.rank;
  const Shown blocks = sends ? blocks_for_others(team, true, send, bytes) : Shown{};
  return exchange(channel, blocks, {root, root + 1, bytes * size_t(team.ranks - 1)}, false, [&] {
    place(recv, sends ? bytes_of(send) + size_t(root) * bytes : block_from(channel, root, bytes), bytes);
  });
}

coll_status latency_gather(Channel& channel, const void* send, void* recv, size_t bytes, int root) {
  const bool sends = root != channel.team->rank;
  return exchange(channel, {sends, send, bytes}, {0, sends ? 0 : channel.team->ranks, bytes}, false, [&] {
    if (!sends) collect(*channel.team, send, recv, bytes, [&](int rank) { return cell_of(channel, rank).payload; });
  });
}

coll_status latency_allgather(Channel& channel, const void* send, void* recv, size_t bytes) {
  return exchange(channel, {true, send, bytes}, {0, channel.team->ranks, bytes}, true, [&] {
    collect(*channel.team, send, recv, bytes, [&](int rank) { return cell_of(channel, rank).payload; });
  });
}

coll_status latency_alltoall(Channel& channel, const void* send, void* recv, size_t bytes) {
  const Team& team = *channel.team;
  const Shown blocks = blocks_for_others(team, true, send, bytes);
  return exchange(channel, blocks, {0, team.ranks, bytes * size_t(team.ranks - 1)}, true, [&] {
    collect(team, bytes_of(send) + size_t(team.rank) * bytes, recv, bytes,
            [&](int rank) { return block_from(channel, rank, bytes); });
  });
}

coll_status latency_reduce_scatter(Channel& channel, const void* send, void* recv, size_t count,
                                   const Reducer& reducer) {
  const Team& team = *channel.team;
  const size_t bytes = count * reducer.element_bytes;
  const Shown blocks = blocks_for_others(team, true, send, bytes);
  return exchange(channel, blocks, {0, team.ranks, bytes * size_t(team.ranks - 1)}, true, [&] {
    const void* sources[most_ranks];
    for (int rank = 0; rank < team.ranks; rank++)
      sources[rank] = rank == team.rank ? bytes_of(send) + size_t(rank) * bytes : block_from(channel, rank, bytes);
    reducer(recv, nullptr, sources, team.ranks, count);
  });
}

coll_status latency_scan(Channel& channel, const void* send, void* recv, size_t count, const Reducer& reducer,
                         bool with_own) {
  const int rank = channel.team->rank, last = with_own ? rank + 1 : rank;
  const size_t bytes = count * reducer.element_bytes;
  return exchange(channel, {rank + 1 < channel.team->ranks, send, bytes}, {0, last, bytes}, false, [&] {
    if (last > 0) fold(channel, send, recv, count, reducer, last);
  });
}

coll_status latency_agree(Channel& channel, uint64_t signature, int* differs) {
  *differs = -1;
  coll_status status = channel.begin_cell();
  if (status != COLL_OK) return status;
  const Team& team = *channel.team;
  show(channel, cell_of(channel, team.rank), signature);
  for (int rank = 0; rank < team.ranks; rank++)
    if (rank != team.rank && (status = await(channel, rank)) != COLL_OK) return status;
  for (int rank = team.ranks - 1; rank >= 0; rank--)
    if (cell_of(channel, rank).check != signature && rank != team.rank) *differs = rank;
  leave(channel, true, true, 0);
  return *differs < 0 ? COLL_OK : COLL_ERR_MISMATCH;
}

}  // namespace coll::exec
