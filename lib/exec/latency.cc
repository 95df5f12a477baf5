// SPDX-License-Identifier: BSD-3-Clause
#include "exec/latency.h"

#include <algorithm>

#include "mem/copy.h"

namespace coll::exec {

namespace {

// How a payload of this size travels.
enum class Form : uint8_t {
  one_line,  // in the first line of a cell, with the number
  numbered,  // over a few lines, each with the number
  cell,      // in a cell: the number comes last and is looked at first
};
constexpr size_t numbered_bytes = numbered_lines * NumberedLine::payload_bytes;

Form form_of(size_t bytes) {
  return bytes <= first_line_payload_bytes ? Form::one_line : bytes <= numbered_bytes ? Form::numbered : Form::cell;
}
size_t lines_of(size_t bytes) { return (bytes + NumberedLine::payload_bytes - 1) / NumberedLine::payload_bytes; }

Cell& cell_of(Channel& channel, int rank) {
  return channel.members[size_t(rank)].memory->cell[channel.operation % cells];
}
NumberedLine* lines_of(Channel& channel, int rank, uint64_t operation) {
  return channel.members[size_t(rank)].memory->lines[operation % cells];
}

// Ends the operation. A rank that wrote this time will probably do so the next time and takes those lines back early.
void leave(Channel& channel, bool synchronizing, bool wrote, size_t bytes) {
  const uint64_t next = channel.operation + 1;
  if (wrote && form_of(bytes) == Form::numbered) {
    for (size_t i = 0; i < lines_of(bytes); i++) sync::fetch_for_writing(&lines_of(channel, channel.team->rank, next)[i]);
  } else if (wrote) {
    sync::fetch_for_writing(&channel.own().memory->cell[next % cells]);
  }
  channel.end(synchronizing, 0);
}

void fill(Channel& channel, const void* data, size_t bytes) {
  if (form_of(bytes) == Form::numbered) {
    NumberedLine* line = lines_of(channel, channel.team->rank, channel.operation);
    const char* from = static_cast<const char*>(data);
    for (size_t begin = 0; begin < bytes; begin += NumberedLine::payload_bytes, line++) {
      mem::copy(line->payload, from + begin, std::min(bytes - begin, NumberedLine::payload_bytes));
      line->sequence.store(channel.operation, std::memory_order_release);
    }
  } else {
    Cell& cell = cell_of(channel, channel.team->rank);
    mem::copy(cell.payload, data, bytes);
    cell.sequence.store(channel.operation, std::memory_order_release);
  }
  channel.team->posted();
}

// All lines are asked for in every round, and only then looked at.
bool all_here(const NumberedLine* line, size_t lines, uint64_t operation) {
  bool here = true;
  for (size_t i = 0; i < lines; i++) here &= line[i].sequence.load(std::memory_order_acquire) >= operation;
  return here;
}

// The payload of a rank, once it is there: in place, or joined together in `space` [numbered_bytes].
coll_status await(Channel& channel, int rank, size_t bytes, char* space, const void** payload) {
  Team& team = *channel.team;
  if (form_of(bytes) != Form::numbered) {
    *payload = cell_of(channel, rank).payload;
    return team.wait(cell_of(channel, rank).sequence, channel.operation, rank);
  }
  const NumberedLine* line = lines_of(channel, rank, channel.operation);
  const size_t lines = lines_of(bytes);
  for (uint32_t spins = 0; spins < team.patience.spins && !all_here(line, lines, channel.operation); spins++) sync::pause();
  for (size_t i = 0; i < lines; i++) {
    coll_status status = team.wait(line[i].sequence, channel.operation, rank);
    if (status != COLL_OK) return status;
    size_t begin = i * NumberedLine::payload_bytes;
    mem::copy(space + begin, line[i].payload, std::min(bytes - begin, NumberedLine::payload_bytes));
  }
  *payload = space;
  return COLL_OK;
}

constexpr int most_ranks = 64;

// Gathers all operands, own included, and folds them in rank order.
coll_status fold(Channel& channel, const void* send, void* recv, size_t count, const Reducer& reducer) {
  const Team& team = *channel.team;
  alignas(sync::line_bytes) char space[most_ranks][(numbered_bytes + 63) / 64 * 64];
  const void* sources[most_ranks];
  for (int rank = 0; rank < team.ranks; rank++) {
    sources[rank] = send;
    if (rank == team.rank) continue;
    coll_status status = await(channel, rank, count * reducer.element_bytes, space[rank], &sources[rank]);
    if (status != COLL_OK) return status;
  }
  reducer(recv, nullptr, sources, team.ranks, count);
  return COLL_OK;
}

// Until every other rank has come.
coll_status await_all(Channel& channel) {
  for (int rank = 0; rank < channel.team->ranks; rank++) {
    if (rank == channel.team->rank) continue;
    coll_status status = channel.team->wait(cell_of(channel, rank).sequence, channel.operation, rank);
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
    char space[numbered_bytes];
    const void* payload = nullptr;
    if ((status = await(channel, root, bytes, space, &payload)) != COLL_OK) return status;
    mem::copy(buffer, payload, bytes);
  }
  leave(channel, false, root == channel.team->rank, bytes);
  return COLL_OK;
}

coll_status latency_reduce(Channel& channel, const void* send, void* recv, size_t count, const Reducer& reducer, int root) {
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
