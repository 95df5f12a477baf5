// SPDX-License-Identifier: BSD-3-Clause
#include "exec/latency.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "mem/copy.h"
#include "mem/fetch.h"
#include "transport/arena.h"

namespace coll::exec {

namespace {

constexpr size_t lines_of(size_t payload_bytes) {
  return (offsetof(Mailbox, payload) + payload_bytes + sync::line_bytes - 1) / sync::line_bytes;
}

// Bits of Mailbox::check. elsewhere: the mailbox says where the payload is. in_buffer: that is a buffer with all
// blocks, including the writer's own.
constexpr uint64_t elsewhere = uint64_t(1) << 63, in_buffer = uint64_t(1) << 62, bytes_mask = in_buffer - 1;

// Shorter payloads stay in their mailboxes, next to the flag. So do somewhat longer ones of a rank that does not wait
// for its readers: it prefetches the mailbox's lines for write so early that it owns them in time.
constexpr size_t long_bytes = size_t(1) << 10;
bool has_out_of_line_payload(const Channel& channel, size_t bytes, bool synchronizing) {
  return bytes > mem::most_bytes_in_place(synchronizing) && channel.payloads != nullptr;
}

// Payload of a mailbox whose data is elsewhere in the segment, at this offset from the writer's first mailbox.
struct InSegment {
  int64_t offset;
};
// The same for data in a buffer in the writer's arena.
struct InArena {
  uint64_t address;  // in the writer's address space
  uint64_t offset;   // in the arena of its process
  uint64_t bytes;    // of the buffer
};

// What a rank shows its peers. Without `shown` it shows nothing, not even that it has arrived.
struct Shown {
  bool shown = false;
  const void* data = nullptr;
  size_t bytes = 0;
  const void* more = nullptr;
  size_t more_bytes = 0;
  // The buffer with these data, which peers may access in place; null if it changes during the operation.
  const void* buffer = nullptr;
  size_t buffer_bytes = 0;

  size_t all_bytes() const { return bytes + more_bytes; }
};
// The ranks in [first, last), without this rank, that are waited for. Each of them shows `bytes`.
struct From {
  int first, last;
  size_t bytes;
};

Shown vector(bool shown, const void* data, size_t bytes, bool lasts) {
  return {.shown = shown, .data = data, .bytes = bytes, .buffer = lasts ? data : nullptr, .buffer_bytes = bytes};
}

// InSegment::offset counts from here.
const char* origin_of(const Channel& channel, int rank) { return channel.mailbox_parts.of(rank); }

// How many bytes of a payload in a mailbox are prefetched for write, see prefetched_bytes(): up to 4 KiB are worth the
// delay even if all ranks end together.
size_t prefetched_payload_bytes(size_t bytes, bool synchronizing) {
  return std::min(bytes, prefetched_bytes(synchronizing && bytes > size_t(4) << 10));
}

// Shows this rank's buffer in place in the arena, which peers map. Returns false if it is not in the arena. `own` by
// value as in write_long_payload().
[[gnu::noinline]] bool show_in_arena(Channel& channel, Shown own) {
  const transport::Arena* arena = transport::Arena::existing();
  if (arena == nullptr) return false;
  const std::optional<uint64_t> offset = arena->offset_of(own.buffer, own.buffer_bytes);
  if (!offset.has_value()) return false;
  const Team& team = *channel.team;
  team.publish_arena(arena->descriptor());
  const InArena place{uint64_t(uintptr_t(own.buffer)), *offset, own.buffer_bytes};
  Mailbox& mailbox = channel.mailbox(team.rank);
  std::memcpy(mailbox.payload, &place, sizeof place);
  channel.show(mailbox, own.all_bytes() | elsewhere | in_buffer);
  return true;
}

// Stores to lines that have not been prefetched for write, prefetching them in steps.
[[gnu::noinline]] void store_in_steps(char* to, const char* from, size_t bytes) {
  mem::write_in_steps(to, bytes, [&](size_t at, size_t length) { mem::copy(to + at, from + at, length); });
}

// Stores to a payload whose first `asked` bytes have been prefetched for write.
inline void store(char* payload, size_t at, const void* data, size_t bytes, size_t asked) {
  const size_t first = std::min(bytes, asked > at ? asked - at : 0);
  mem::copy(payload + at, data, first);
  if (first < bytes) [[unlikely]]
    store_in_steps(payload + at + first, static_cast<const char*>(data) + first, bytes - first);
}
[[gnu::always_inline]] inline void store(char* payload, const Shown& own, size_t asked) {
  store(payload, 0, own.data, own.bytes, asked);
  if (own.more_bytes != 0) store(payload, own.bytes, own.more, own.more_bytes, asked);
}

// Writes a long payload. The rank measures on the mailbox's own flag whether to use non-temporal stores, so that flag
// must not have been prefetched for write: see leave().
// `own` is passed by value to stay in registers.
[[gnu::noinline]] void write_long_payload(Channel& channel, Shown own, bool synchronizing) {
  Mailbox& mailbox = channel.mailbox(channel.team->rank);
  const size_t bytes = own.all_bytes();
  mem::SharedStores& stores = channel.team->stores;
  if (bytes >= mem::SharedStores::least_bytes && stores.is_due()) stores.measure(mailbox.sequence);
  const bool out_of_line = has_out_of_line_payload(channel, bytes, synchronizing);
  char* payload = out_of_line ? channel.allocate_payload(bytes) : mailbox.payload;
  if (stores.writes_without_rfo(bytes, synchronizing)) {
    const bool streams = stores.stream(bytes);
    mem::copy_shared(payload, own.data, own.bytes, streams);
    if (own.more_bytes != 0) mem::copy_shared(payload + own.bytes, own.more, own.more_bytes, streams);
  } else {
    store(payload, own, out_of_line ? bytes : prefetched_payload_bytes(bytes, synchronizing));
  }
  if (out_of_line) {
    const InSegment place{payload - origin_of(channel, channel.team->rank)};
    std::memcpy(mailbox.payload, &place, sizeof place);
  }
  channel.show(mailbox, bytes | (out_of_line ? elsewhere : 0));
}

// Fills this rank's mailbox.
[[gnu::always_inline]] inline void fill(Channel& channel, const Shown& own, bool synchronizing) {
  Mailbox& mailbox = channel.mailbox(channel.team->rank);
  const size_t bytes = own.all_bytes();
  if (bytes >= long_bytes) [[unlikely]]
    return write_long_payload(channel, own, synchronizing);
  store(mailbox.payload, own, bytes);
  channel.show(mailbox, bytes);
}

// Address of the data that the rank shows.
const char* shown_by(const Channel& channel, int rank) {
  const Mailbox& mailbox = channel.mailbox(rank);
  if ((mailbox.check & elsewhere) == 0) return mailbox.payload;
  if ((mailbox.check & in_buffer) == 0) {
    InSegment place;
    std::memcpy(&place, mailbox.payload, sizeof place);
    return origin_of(channel, rank) + place.offset;
  }
  InArena place;
  std::memcpy(&place, mailbox.payload, sizeof place);
  const Team& team = *channel.team;
  if (team.members[size_t(rank)].peer->same_process()) return reinterpret_cast<const char*>(place.address);
  if (const char* mapped = team.arena_of(rank, place.offset)) return mapped;
  return team.fetched[size_t(rank)].data();
}

// Some ranks show buffers in their arenas. Their owners copy those that this process cannot map.
[[gnu::noinline, gnu::cold]] coll_status fetch_unmapped(Channel& channel, const From& from) {
  Team& team = *channel.team;
  for (int other = from.first; other < from.last; other++) {
    const Mailbox& mailbox = channel.mailbox(other);
    if (other == team.rank || (mailbox.check & in_buffer) == 0 || team.members[size_t(other)].peer->same_process())
      continue;
    InArena place;
    std::memcpy(&place, mailbox.payload, sizeof place);
    if (team.arena_of(other, place.offset) != nullptr) continue;
    team.fetched.resize(size_t(team.ranks));
    std::vector<char>& fetched = team.fetched[size_t(other)];
    fetched.resize(place.bytes);
    if (team.copy_by_owner(other, false, place.address, fetched.data(), place.bytes)) continue;
    errno = EFAULT;
    return team.has_exited(other) ? COLL_ERR_PEER_DIED : COLL_ERR_SYSTEM;
  }
  return COLL_OK;
}

// The first line shows when the payload is there. The second is prefetched together with it: ranks that arrive together
// find it written. Further lines are not prefetched: a line that is read too early leaves its writer, which then waits
// for it, and so do all readers.
void ask_for_second_line(Channel& channel, int rank, size_t bytes) {
  if (lines_of(bytes) == 2)
    __builtin_prefetch(reinterpret_cast<const char*>(&channel.mailbox(rank)) + sync::line_bytes);
}
bool is_there(const Channel& channel, int rank) {
  return sync::seen(channel.mailbox(rank).sequence) >= channel.operation;
}
coll_status await(Channel& channel, int rank, bool for_it_alone = false) {
  return channel.team->wait(channel.mailbox(rank).sequence, channel.operation, rank, for_it_alone);
}
// Waits for all ranks when they are oversubscribed: first for those that need this rank's core, then for the others,
// which do not wait for it. Ranks may migrate meanwhile.
coll_status await_all_oversubscribed(Channel& channel) {
  const Team& team = *channel.team;
  for (const bool all : {false, true})
    for (int other = 0; other < team.ranks; other++)
      if (other != team.rank && (all || team.may_share_core(other)))
        if (coll_status status = await(channel, other, all); status != COLL_OK) return status;
  return COLL_OK;
}
// Waits for a peer that has not posted yet. A rank that waits for the root alone does not need to give up its core if
// the root runs on another; with up to four ranks the root will be scheduled soon.
[[gnu::noinline]] coll_status await_late(Channel& channel, int rank, const From& from, bool is_leaf) {
  constexpr int few = 4;
  const Team& team = *channel.team;
  if (!team.oversubscribed) [[likely]]
    return await(channel, rank);
  if (from.last - from.first == team.ranks) return await_all_oversubscribed(channel);
  return await(channel, rank, is_leaf && team.ranks <= few);
}

constexpr int most_ranks = 64;

// Prefetches lines for write as leave() does, for a long payload.
[[gnu::noinline]] void ask_for_long(Channel& channel, bool synchronizing, size_t bytes) {
  const mem::SharedStores& stores = channel.team->stores;
  const bool measures = bytes >= mem::SharedStores::least_bytes && stores.is_next_due();
  if (measures || stores.writes_without_rfo(bytes, synchronizing)) return;
  Mailbox& next = channel.next_mailbox();
  mem::fetch_for_writing(&next, sync::line_bytes);
  if (!has_out_of_line_payload(channel, bytes, synchronizing))
    mem::fetch_for_writing(next.payload, prefetched_payload_bytes(bytes, synchronizing));
  // No peer holds the lines of a payload that rotates through memory: a prefetch pays only for few lines.
  else if (bytes < 2 * long_bytes) mem::fetch_for_writing(channel.next_payload(bytes), bytes);
}

// Ends the operation. A rank that wrote a payload will probably write the next one, too, and prefetches its lines for
// write.
inline void leave(Channel& channel, bool synchronizing, bool wrote, size_t bytes) {
  if (wrote && bytes >= long_bytes) [[unlikely]]
    ask_for_long(channel, synchronizing, bytes);
  else if (wrote) mem::fetch_for_writing(&channel.next_mailbox(), offsetof(Mailbox, payload) + bytes);
  channel.end(synchronizing, 0);
}

// The common form of the latency paths: shows this rank's data, calls alone(), which copies what needs no peer, waits for
// the ranks of `from`, then calls take(), which reads what they show. `synchronizing`: these are all ranks on every rank.
template <typename Alone, typename Take>
coll_status exchange(Channel& channel, const Shown& own, const From& from, bool synchronizing, Alone alone, Take take) {
  coll_status status = channel.begin_cell();
  if (status != COLL_OK) return status;
  Team& team = *channel.team;
  const int rank = team.rank;
  if (team.oversubscribed) [[unlikely]]
    team.publish_core();
  // Long payloads only: a rank that shows its buffer in place has to wait for its peers.
  const bool seen = own.shown && own.all_bytes() >= team.direct_min_bytes && own.buffer != nullptr && team.map_arenas &&
                    show_in_arena(channel, own);
  if (own.shown && !seen) fill(channel, own, synchronizing);
  for (int other = from.first; other < from.last; other++)
    if (other != rank) ask_for_second_line(channel, other, from.bytes);
  alone();
  uint64_t most = 0, checks = 0;
  for (int other = from.first; other < from.last; other++)
    if (other != rank) {
      if (!is_there(channel, other)) [[unlikely]]
        if ((status = await_late(channel, other, from, !own.shown)) != COLL_OK) return status;
      const uint64_t check = channel.mailbox(other).check;
      checks |= check;
      most = std::max(most, check & bytes_mask);
    }
  if ((checks & in_buffer) != 0) [[unlikely]]
    if ((status = fetch_unmapped(channel, from)) != COLL_OK) return status;
  take();
  leave(channel, synchronizing, own.shown, seen ? 0 : own.all_bytes());
  if (seen) status = channel.await_all();
  return most <= from.bytes ? status : COLL_ERR_TRUNCATE;
}

template <typename Take>
coll_status exchange(Channel& channel, const Shown& own, const From& from, bool synchronizing, Take take) {
  return exchange(
      channel, own, from, synchronizing, [] {}, take);
}

// Reduces the operands of ranks 0 .. last - 1; this rank's own operand is in the caller's memory.
void fold(Channel& channel, const void* own, void* recv, size_t count, const Reducer& reducer, int last) {
  const void* sources[most_ranks];
  for (int rank = 0; rank < last; rank++) sources[rank] = rank == channel.team->rank ? own : shown_by(channel, rank);
  reducer(recv, nullptr, sources, last, count);
}

// One block for each other rank, beginning with the next rank, which finds its block in the first line.
Shown blocks_for_others(const Team& team, const void* send, size_t bytes, bool lasts) {
  const auto* all = static_cast<const char*>(send);
  const size_t above = size_t(team.ranks - 1 - team.rank), below = size_t(team.rank);
  return {.shown = true,
          .data = all + (below + 1) * bytes,
          .bytes = above * bytes,
          .more = all,
          .more_bytes = below * bytes,
          .buffer = lasts ? send : nullptr,
          .buffer_bytes = bytes * size_t(team.ranks)};
}
// Address of the block that rank `of` shows for this rank.
const char* block_from(Channel& channel, int of, size_t bytes) {
  const Team& team = *channel.team;
  const char* blocks = shown_by(channel, of);
  const bool has_all = (channel.mailbox(of).check & in_buffer) != 0;
  const int place = has_all ? team.rank : (team.rank - of - 1 + team.ranks) % team.ranks;
  return blocks + size_t(place) * bytes;
}

void place(void* to, const void* from, size_t bytes) {
  if (to != from) mem::copy(to, from, bytes);
}

const char* bytes_of(const void* data) { return static_cast<const char*>(data); }

// Copies what shown(r) points to into block r of recv, for every rank but this one.
template <typename Shows>
void collect(const Team& team, void* recv, size_t bytes, Shows shown) {
  for (int rank = 0; rank < team.ranks; rank++)
    if (rank != team.rank) mem::copy(static_cast<char*>(recv) + size_t(rank) * bytes, shown(rank), bytes);
}
void keep_own(const Team& team, const void* own, void* recv, size_t bytes) {
  place(static_cast<char*>(recv) + size_t(team.rank) * bytes, own, bytes);
}

}  // namespace

coll_status latency_barrier(Channel& channel) {
  return exchange(channel, {.shown = true}, {0, channel.team->ranks, 0}, true, [] {});
}

coll_status latency_bcast(Channel& channel, void* buffer, size_t bytes, int root) {
  const bool sends = root == channel.team->rank;
  size_t shown = bytes;
  const Shown own = vector(sends, buffer, bytes, true);
  const coll_status status = exchange(channel, own, {root, root + 1, bytes}, false, [&] {
    if (sends) return;
    shown = channel.mailbox(root).check & bytes_mask;
    mem::copy(buffer, shown_by(channel, root), std::min(shown, bytes));
  });
  return shown >= bytes ? status : COLL_ERR_COUNT;
}

coll_status latency_reduce(Channel& channel, const void* send, void* recv, size_t count, const Reducer& reducer,
                           int root) {
  const size_t bytes = count * reducer.element_bytes;
  const int last = root == channel.team->rank ? channel.team->ranks : 0;
  return exchange(channel, vector(last == 0, send, bytes, true), {0, last, bytes}, false, [&] {
    if (last != 0) fold(channel, send, recv, count, reducer, last);
  });
}

coll_status latency_allreduce(Channel& channel, const void* send, void* recv, size_t count, const Reducer& reducer) {
  const size_t bytes = count * reducer.element_bytes;
  const int ranks = channel.team->ranks;
  return exchange(channel, vector(true, send, bytes, send != recv), {0, ranks, bytes}, true,
                  [&] { fold(channel, send, recv, count, reducer, ranks); });
}

coll_status latency_scatter(Channel& channel, const void* send, void* recv, size_t bytes, int root) {
  const Team& team = *channel.team;
  const bool sends = root == team.rank;
  const Shown blocks = sends ? blocks_for_others(team, send, bytes, true) : Shown{};
  return exchange(
      channel, blocks, {root, root + 1, bytes * size_t(team.ranks - 1)}, false,
      [&] {
        if (sends) place(recv, bytes_of(send) + size_t(root) * bytes, bytes);
      },
      [&] {
        if (!sends) mem::copy(recv, block_from(channel, root, bytes), bytes);
      });
}

coll_status latency_gather(Channel& channel, const void* send, void* recv, size_t bytes, int root) {
  const Team& team = *channel.team;
  const bool sends = root != team.rank;
  return exchange(
      channel, vector(sends, send, bytes, true), {0, sends ? 0 : team.ranks, bytes}, false,
      [&] {
        if (!sends) keep_own(team, send, recv, bytes);
      },
      [&] {
        if (!sends) collect(team, recv, bytes, [&](int rank) { return shown_by(channel, rank); });
      });
}

coll_status latency_allgather(Channel& channel, const void* send, void* recv, size_t bytes) {
  const Team& team = *channel.team;
  return exchange(
      channel, vector(true, send, bytes, true), {0, team.ranks, bytes}, true,
      [&] { keep_own(team, send, recv, bytes); },
      [&] { collect(team, recv, bytes, [&](int rank) { return shown_by(channel, rank); }); });
}

coll_status latency_alltoall(Channel& channel, const void* send, void* recv, size_t bytes) {
  const Team& team = *channel.team;
  const Shown blocks = blocks_for_others(team, send, bytes, send != recv);
  return exchange(
      channel, blocks, {0, team.ranks, bytes * size_t(team.ranks - 1)}, true,
      [&] { keep_own(team, bytes_of(send) + size_t(team.rank) * bytes, recv, bytes); },
      [&] { collect(team, recv, bytes, [&](int rank) { return block_from(channel, rank, bytes); }); });
}

coll_status latency_reduce_scatter(Channel& channel, const void* send, void* recv, size_t count,
                                   const Reducer& reducer) {
  const Team& team = *channel.team;
  const size_t bytes = count * reducer.element_bytes;
  const Shown blocks = blocks_for_others(team, send, bytes, send != recv);
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
  const Shown own = vector(rank + 1 < channel.team->ranks, send, bytes, send != recv);
  return exchange(channel, own, {0, last, bytes}, false, [&] {
    if (last > 0) fold(channel, send, recv, count, reducer, last);
  });
}

coll_status latency_agree(Channel& channel, uint64_t signature, int* differs) {
  *differs = -1;
  coll_status status = channel.begin_cell();
  if (status != COLL_OK) return status;
  const Team& team = *channel.team;
  channel.show(channel.mailbox(team.rank), signature);
  for (int rank = 0; rank < team.ranks; rank++)
    if (rank != team.rank && (status = await(channel, rank)) != COLL_OK) return status;
  for (int rank = team.ranks - 1; rank >= 0; rank--)
    if (channel.mailbox(rank).check != signature && rank != team.rank) *differs = rank;
  leave(channel, true, true, 0);
  return *differs < 0 ? COLL_OK : COLL_ERR_MISMATCH;
}

}  // namespace coll::exec
