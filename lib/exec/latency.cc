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

// Gathers all operands, own included, and folds them in rank order.
coll_status fold(Channel& channel, const void* send, void* recv, size_t count, const Reducer& reducer) {
  const Team& team = *channel.team;
  const size_t bytes = count * reducer.element_bytes;
  const void* sources[most_ranks];
  for (int rank = 0; rank < team.ranks; rank++)
    if (rank != team.rank) ask_for_second_line(channel, rank, bytes);
  for (int rank = 0; rank < team.ranks; rank++) {
    sources[rank] = rank == team.rank ? send : cell_of(channel, rank).payload;
    if (rank == team.rank) continue;
    coll_status status = await(channel, rank);
    if (status != COLL_OK) return status;
  }
  reducer(recv, nullptr, sources, team.ranks, count);
  return COLL_OK;
}

// Until every other rank has come.
coll_status await_all(Channel& channel) {
  for (int rank = 0; rank < channel.team->ranks; rank++) {
    if (rank == channel.team->rank) continue;
    coll_status status = await(channel, rank);
    if (status != COLL_OK) return status;
  }
  return COLL_OK;
}

}  // namespace

coll_status latency_barrier(Channel& channel) {
  coll_status status = channel.begin_cell();
  if (status != COLL_OK) return status;
  fill(channel, nullptr, 0);
  if ((status = await_all(channel)) != COLL_OK) return status;
  leave(channel, true, true, 0);
  return COLL_OK;
}

coll_status latency_bcast(Channel& channel, void* buffer, size_t bytes, int root) {
  coll_status status = channel.begin_cell();
  if (status != COLL_OK) return status;
  if (root == channel.team->rank) {
    fill(channel, buffer, bytes);
  } else {
    ask_for_second_line(channel, root, bytes);
    if ((status = await(channel, root)) != COLL_OK) return status;
    mem::copy(buffer, cell_of(channel, root).payload, bytes);
  }
  leave(channel, false, root == channel.team->rank, bytes);
  return COLL_OK;
}

coll_status latency_reduce(Channel& channel, const void* send, void* recv, size_t count, const Reducer& reducer,
                           int root) {
  coll_status status = channel.begin_cell();
  if (status != COLL_OK) return status;
  if (root != channel.team->rank) fill(channel, send, count * reducer.element_bytes);
  else if ((status = fold(channel, send, recv, count, reducer)) != COLL_OK) return status;
  leave(channel, false, root != channel.team->rank, count * reducer.element_bytes);
  return COLL_OK;
}

coll_status latency_allreduce(Channel& channel, const void* send, void* recv, size_t count, const Reducer& reducer) {
  coll_status status = channel.begin_cell();
  if (status != COLL_OK) return status;
  fill(channel, send, count * reducer.element_bytes);
  if ((status = fold(channel, send, recv, count, reducer)) != COLL_OK) return status;
  leave(channel, true, true, count * reducer.element_bytes);
  return COLL_OK;
}

coll_status latency_agree(Channel& channel, uint64_t signature, int* differs) {
  coll_status status = channel.begin_cell();
  if (status != COLL_OK) return status;
  cell_of(channel, channel.team->rank).check = signature;
  fill(channel, nullptr, 0);
  if ((status = await_all(channel)) != COLL_OK) return status;
  *differs = -1;
  for (int rank = channel.team->ranks - 1; rank >= 0; rank--)
    if (cell_of(channel, rank).check != signature && rank != channel.team->rank) *differs = rank;
  leave(channel, true, true, 0);
  return *differs < 0 ? COLL_OK : COLL_ERR_MISMATCH;
}

}  // namespace coll::exec
