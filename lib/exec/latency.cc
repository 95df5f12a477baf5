// SPDX-License-Identifier: BSD-3-Clause
#include "exec/latency.h"

#include <memory>

#include "mem/copy.h"

namespace coll::exec {

namespace {

Cell& cell_of(Channel& channel, int rank) {
  return channel.members[size_t(rank)].memory->cell[channel.operation % cells];
}

// Ends the operation. A rank that wrote this time will probably write the next time and takes that line back early.
void leave(Channel& channel, bool synchronizing, bool wrote) {
  if (wrote) sync::fetch_for_writing(&channel.own().memory->cell[(channel.operation + 1) % cells]);
  channel.end(synchronizing, 0);
}

void fill(Channel& channel, const void* data, size_t bytes) {
  Cell& cell = cell_of(channel, channel.team->rank);
  mem::copy(cell.payload, data, bytes);
  cell.sequence.store(channel.operation, std::memory_order_release);
  channel.team->posted();
}

coll_status await(Channel& channel, int rank) {
  return channel.team->wait(cell_of(channel, rank).sequence, channel.operation, rank);
}

// Gathers all operands, own included, and folds them in rank order.
coll_status fold(Channel& channel, const void* send, void* recv, size_t count, const Reducer& reducer) {
  const Team& team = *channel.team;
  const void* few[64];
  std::unique_ptr<const void*[]> many;
  const void** sources = few;
  if (team.ranks > 64) sources = (many = std::make_unique<const void*[]>(size_t(team.ranks))).get();
  for (int rank = 0; rank < team.ranks; rank++) {
    if (rank == team.rank) {
      sources[rank] = send;
      continue;
    }
    coll_status status = await(channel, rank);
    if (status != COLL_OK) return status;
    sources[rank] = cell_of(channel, rank).payload;
  }
  reducer(recv, nullptr, sources, team.ranks, count);
  return COLL_OK;
}

}  // namespace

coll_status latency_barrier(Channel& channel) {
  coll_status status = channel.begin_cell();
  if (status != COLL_OK) return status;
  fill(channel, nullptr, 0);
  for (int rank = 0; rank < channel.team->ranks; rank++)
    if (rank != channel.team->rank && (status = await(channel, rank)) != COLL_OK) return status;
  leave(channel, true, true);
  return COLL_OK;
}

coll_status latency_bcast(Channel& channel, void* buffer, size_t bytes, int root) {
  coll_status status = channel.begin_cell();
  if (status != COLL_OK) return status;
  if (root == channel.team->rank) {
    fill(channel, buffer, bytes);
  } else {
    if ((status = await(channel, root)) != COLL_OK) return status;
    mem::copy(buffer, cell_of(channel, root).payload, bytes);
  }
  leave(channel, false, root == channel.team->rank);
  return COLL_OK;
}

coll_status latency_reduce(Channel& channel, const void* send, void* recv, size_t count, const Reducer& reducer, int root) {
  coll_status status = channel.begin_cell();
  if (status != COLL_OK) return status;
  if (root != channel.team->rank) fill(channel, send, count * reducer.element_bytes);
  else if ((status = fold(channel, send, recv, count, reducer)) != COLL_OK) return status;
  leave(channel, false, root != channel.team->rank);
  return COLL_OK;
}

coll_status latency_allreduce(Channel& channel, const void* send, void* recv, size_t count, const Reducer& reducer) {
  coll_status status = channel.begin_cell();
  if (status != COLL_OK) return status;
  fill(channel, send, count * reducer.element_bytes);
  if ((status = fold(channel, send, recv, count, reducer)) != COLL_OK) return status;
  leave(channel, true, true);
  return COLL_OK;
}

coll_status latency_agree(Channel& channel, uint64_t signature, int* differs) {
  coll_status status = channel.begin_cell();
  if (status != COLL_OK) return status;
  cell_of(channel, channel.team->rank).check = signature;
  fill(channel, nullptr, 0);
  *differs = -1;
  for (int rank = 0; rank < channel.team->ranks; rank++) {
    if (rank == channel.team->rank) continue;
    if ((status = await(channel, rank)) != COLL_OK) return status;
    if (cell_of(channel, rank).check != signature && *differs < 0) *differs = rank;
  }
  leave(channel, true, true);
  return *differs < 0 ? COLL_OK : COLL_ERR_MISMATCH;
}

}  // namespace coll::exec
