// SPDX-License-Identifier: BSD-3-Clause
#include "exec/neighbor_exchange.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <numeric>
#include <optional>

#include "exec/neighbor_exchange_table.h"
#include "exec/wait.h"
#include "mem/copy.h"
#include "mem/fetch.h"
#include "sync/system_wait.h"
#include "transport/arena.h"

namespace coll::exec {

namespace {

constexpr uint64_t all_consumed = UINT64_MAX;
constexpr size_t least_staging_bytes = size_t(64) << 10, least_windows_bytes = size_t(32) << 10;
// Longer streams are copied by the kernel if possible, even if staging is the rule: a sender that reuses its window
// waits for the receiver, and for the core if both share one.
constexpr size_t most_staged_bytes = least_staging_bytes;
// Lines of a table that a receiver prefetches at once: as many as a rank with few neighbours fills for short messages.
constexpr size_t table_lines = 3;

constexpr size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }
// Windows below 256 bytes follow each other directly. Longer ones begin whole lines behind the table's start, so that they
// are aligned as staging is, 16 bytes behind a line, which most messages of malloc() are, too (comm/segment_layout.cc).
constexpr size_t window_at(size_t offset, size_t bytes) { return round_up(offset, bytes < 256 ? 8 : sync::line_bytes); }

}  // namespace

size_t NeighborExchange::staging_bytes(int ranks) {
  const size_t peers = std::min(size_t(ranks), most_peers);
  return std::max(least_staging_bytes, Table::bytes(peers, peers) + least_windows_bytes);
}

void NeighborExchange::describe(std::span<const coll_outgoing> sends, std::span<const coll_incoming> receives,
                                int rank) {
  rank_ = rank;
  sent_bytes_ = 0;
  for (std::vector<Message>* messages : {&sent_, &received_, &own_sent_, &own_received_}) messages->clear();
  for (const coll_outgoing& send : sends) {
    sent_bytes_ += send.bytes;
    (send.peer == rank ? own_sent_ : sent_)
        .push_back({send.peer, static_cast<char*>(const_cast<void*>(send.data)), send.bytes});
  }
  for (const coll_incoming& receive : receives)
    (receive.peer == rank ? own_received_ : received_)
        .push_back({receive.peer, static_cast<char*>(receive.data), receive.bytes});
  collect(sent_, out_);
  collect(received_, in_);
}

template <typename End>
void NeighborExchange::collect(std::vector<Message>& messages, std::vector<End>& ends) {
  const auto by_peer = [](const Message& a, const Message& b) { return a.peer < b.peer; };
  if (!std::is_sorted(messages.begin(), messages.end(), by_peer))
    std::stable_sort(messages.begin(), messages.end(), by_peer);
  ends.clear();
  for (uint32_t i = 0; i < messages.size(); i++) {
    if (ends.empty() || ends.back().peer != messages[i].peer)
      ends.push_back({Stream{messages[i].peer, i, 0, 0, 0xcbf29ce484222325u}});
    Stream& stream = ends.back();
    stream.messages++;
    stream.bytes += messages[i].bytes;
    stream.lengths = (stream.lengths ^ messages[i].bytes) * 0x100000001b3u;
    stream.lengths ^= stream.lengths >> 29;
  }
}

NeighborExchange::Table& NeighborExchange::table(int rank) const {
  const size_t bytes = staging_bytes(channel_->team->ranks);
  return *reinterpret_cast<Table*>(channel_->ring_of(bytes).parts.of(rank) + staging_offset_);
}

coll_status NeighborExchange::begin(Channel& channel) {
  channel_ = &channel;
  mapped_ = false;
  holds_.clear();
  base_ = channel.base;
  status_ = channel.begin(staging_bytes(channel.team->ranks), &staging_offset_);
  if (status_ != COLL_OK) return status_;
  try {
    write_table();
  } catch (const std::bad_alloc&) {
    channel.team->fail();
    return status_ = COLL_ERR_NO_MEMORY;
  }
  if (mem::SharedStores& stores = channel.team->stores;
      sent_bytes_ >= mem::SharedStores::least_bytes && stores.is_due()) [[unlikely]]
    stores.measure(flag(rank_));
  flag(rank_).store(base_ + 1, std::memory_order_release);
  channel.team->posted();
  copy_own();
  left_ = in_.size();
  for (const Out& out : out_) left_ += !out.over;
  if (left_ == 0) channel.end(false, 1);
  return COLL_OK;
}

// Readers hold the lines of the last table: the rank prefetches for write those that it will write first.
void NeighborExchange::fetch_next_table() {
  if (const char* next = channel_->next_staging(staging_bytes(channel_->team->ranks)); next != nullptr)
    mem::fetch_for_writing(next,
                           Table::bytes(out_.size(), in_.size()) + std::min(sent_bytes_, prefetched_bytes(false)));
}

void NeighborExchange::write_table() {
  Table& own = table(rank_);
  own.outs = uint32_t(out_.size());
  own.ins = uint32_t(in_.size());
  for (size_t i = 0; i < in_.size(); i++) {
    In& in = in_[i];
    in.position = {};
    in.error = 0;
    in.copy = {};
    in.failed_ns = 0;
    in.entry = new (own.in() + i) InEntry{{0}, in.peer};
    in.from = nullptr;
    in.over = false;
  }
  const size_t begin = Table::bytes(out_.size(), in_.size());
  const size_t room = staging_bytes(channel_->team->ranks) - begin;
  size_t staged = 0, at = begin;
  const Out* before = nullptr;
  for (size_t i = 0; i < out_.size(); i++) {
    Out& out = out_[i];
    out.position = {};
    out.entry =
        new (own.out() + i) OutEntry{out.peer, out.messages, out.bytes, {out.lengths}, How::staged, 0, {0}, 0, 0, {0}};
    out.consumed = nullptr;
    out.over = false;
    if (show(out)) continue;
    staged++;
    if (before == nullptr || !is_same(*before, out)) at = window_at(at, out.bytes) + out.bytes;
    before = &out;
  }
  // Windows for complete streams if there is room, otherwise equal shares. The first may begin up to a line later.
  size_t share = SIZE_MAX;
  if (at > begin + room) {
    share = (room - sync::line_bytes) / staged;
    share -= share % (share < sync::line_bytes ? sizeof(uint64_t) : sync::line_bytes);
  }
  at = begin;
  before = nullptr;
  for (Out& out : out_) {
    if (out.entry->how != How::staged) continue;
    out.entry->window_bytes = uint32_t(std::min<size_t>(out.bytes, share));
    if (share == SIZE_MAX && before != nullptr && is_same(*before, out)) {
      out.entry->window_offset = before->entry->window_offset;
      out.entry->staged.store(out.bytes, std::memory_order_relaxed);
      out.over = true;
    } else {
      out.entry->window_offset = at = window_at(at, out.entry->window_bytes);
      out.window = reinterpret_cast<char*>(&own) + at;
      at += out.entry->window_bytes;
      stage(out, 0);
    }
    before = &out;
  }
}

// Whether two consecutive streams send the same memory, as in an allgather among neighbours.
bool NeighborExchange::is_same(const Out& a, const Out& b) const {
  return a.messages == 1 && b.messages == 1 && a.bytes == b.bytes && sent_[a.first].data == sent_[b.first].data;
}

// Lets the receiver access the only message of a stream directly. Returns false if the stream is staged.
bool NeighborExchange::show(Out& out) {
  Team& team = *channel_->team;
  const char* data = sent_[out.first].data;
  if (out.messages != 1 || out.bytes == 0 || out.bytes < team.direct_min_bytes) return false;
  const transport::Arena* arena = team.map_arenas ? transport::Arena::existing() : nullptr;
  const std::optional<uint64_t> offset = arena != nullptr ? arena->offset_of(data, out.bytes) : std::nullopt;
  OutEntry& entry = *out.entry;
  if (offset.has_value()) {
    team.publish_arena(arena->descriptor());
    entry.arena_offset = *offset + 1;
    mapped_ = true;
  } else if (team.access_mode == plan::AccessMode::remote ||
             (team.access_mode == plan::AccessMode::staged && out.bytes > most_staged_bytes)) {
    transport::Announced at;
    transport::Hold hold;
    if (team.stages_own || team.mechanism == nullptr || !team.path.reads ||
        !team.mechanism->offer(data, out.bytes, false, at, hold))
      return false;
    if (hold != nullptr) holds_.push_back(std::move(hold));
    entry.region = at.region;
    entry.place = at.place;
  } else if (team.access_mode == plan::AccessMode::staged) {
    return false;
  }
  entry.address = uint64_t(uintptr_t(data));
  entry.how = How::direct;
  return true;
}

template <typename Copy>
void NeighborExchange::visit(const std::vector<Message>& messages, const Stream& stream, Position& position,
                             size_t bytes, Copy copy) {
  position.done += bytes;
  while (bytes > 0) {
    const Message& message = messages[stream.first + position.message];
    const size_t now = std::min(bytes, message.bytes - position.at);
    if (now > 0) copy(message.data + position.at, now);
    bytes -= now;
    position.at += now;
    if (position.at == message.bytes) position.message++, position.at = 0;
  }
}

// Fills the free part of the window. `consumed`: bytes that the receiver has copied out of it; not all_consumed.
void NeighborExchange::stage(Out& out, uint64_t consumed) {
  const size_t window = out.entry->window_bytes;
  size_t left = std::min<uint64_t>(window - (out.position.done - consumed), out.bytes - out.position.done);
  while (left > 0) {
    const size_t at = out.position.done % window;
    const size_t now = std::min(left, window - at);
    char* to = out.window + at;
    visit(sent_, out, out.position, now, [&](const char* from, size_t bytes) {
      if (bytes <= sync::line_bytes) mem::copy(to, from, bytes);
      else channel_->team->stores.write(to, from, bytes);
      to += bytes;
    });
    left -= now;
  }
  out.entry->staged.store(out.position.done, std::memory_order_release);
  out.over = out.position.done == out.bytes;
}

// A sender stages more only when this many bytes of its window are free.
uint64_t NeighborExchange::wanted_room(const Out& out) const {
  return std::min<uint64_t>((out.entry->window_bytes + 1) / 2, out.bytes - out.position.done);
}

// Advances the sender's side of a stream that is not over. Returns whether it made progress.
bool NeighborExchange::supply(Out& out) {
  if (out.consumed == nullptr) {
    if (!has_table(out.peer)) return false;
    Table& theirs = table(out.peer);
    const InEntry* entry = Table::find(theirs.in(), theirs.ins, rank_);
    if (entry == nullptr) return out.over = true;  // the peer expects no message from this rank
    out.consumed = &entry->consumed;
  }
  const uint64_t consumed = out.consumed->load(std::memory_order_acquire);
  if (consumed == all_consumed) return out.over = true;
  if (out.entry->how == How::direct) return false;
  const size_t window = out.entry->window_bytes;
  if (window - (out.position.done - consumed) < wanted_room(out)) return false;
  stage(out, consumed);
  channel_->team->posted();
  return true;
}

// Finds the stream in the sender's table and compares lengths. REQUIRES: the table is there.
void NeighborExchange::find(In& in) {
  Table& theirs = table(in.peer);
  const OutEntry* from = Table::find(theirs.out(), theirs.outs, rank_);
  if (from == nullptr) {
    differs(in.peer, false);
    in.over = true;
    return;
  }
  in.from = from;
  in.wanted = in.bytes;
  if (from->messages == 1 && in.messages == 1) in.wanted = std::min<uint64_t>(from->bytes, in.bytes);
  else if (from->messages != in.messages || (in.messages > 1 && from->lengths != in.lengths)) in.wanted = 0;
  if (in.wanted != in.bytes || from->bytes != in.bytes || from->messages != in.messages)
    differs(in.peer, from->bytes > in.bytes || (from->bytes == in.bytes && from->messages > in.messages));
}

// Advances the receiver's side of a stream that is not over. Returns whether anything changed, or the exchange failed
// (status_).
bool NeighborExchange::fetch(In& in) {
  if (in.from == nullptr) {
    if (!has_table(in.peer)) return false;
    for (size_t line = 0; line < table_lines; line++)
      __builtin_prefetch(reinterpret_cast<const char*>(&table(in.peer)) + line * sync::line_bytes);
    find(in);
    if (in.over) return true;
  }
  const OutEntry& from = *in.from;
  const bool sender_waits = from.how == How::direct || from.bytes > from.window_bytes;
  if (in.wanted > in.position.done) {
    if (from.how == How::direct) {
      switch (fetch_direct(in)) {
        case OwnersAnswer::pending: return false;
        case OwnersAnswer::failed: return true;
        case OwnersAnswer::made: in.position.done = in.wanted;
      }
    } else {
      const uint64_t there = std::min(from.staged.load(std::memory_order_acquire), in.wanted);
      if (there == in.position.done) return false;
      const char* window = reinterpret_cast<const char*>(&table(in.peer)) + from.window_offset;
      while (in.position.done < there) {
        const size_t at = in.position.done % from.window_bytes;
        const char* source = window + at;
        visit(received_, in, in.position, std::min<size_t>(there - in.position.done, from.window_bytes - at),
              [&source](char* to, size_t bytes) {
                mem::copy(to, source, bytes);
                source += bytes;
              });
      }
    }
  }
  in.over = in.position.done == in.wanted;
  if (sender_waits) {
    in.entry->consumed.store(in.over ? all_consumed : in.position.done, std::memory_order_release);
    channel_->team->posted();
  }
  return true;
}

// Copies the message from the sender's memory, or lets the sender do it. Never waits. pending: call it again; failed:
// status_ and errno say why.
OwnersAnswer NeighborExchange::fetch_direct(In& in) {
  Team& team = *channel_->team;
  if (in.error == 0) in.error = copy_direct(in);
  if (in.error == 0) return OwnersAnswer::made;
  if (owner_can_copy(in.error) && in.failed_ns == 0) {
    if (in.copy.owner < 0) in.copy = {in.peer, false, in.from->address, received_[in.first].data, in.wanted};
    if (const OwnersAnswer answer = team.advance(in.copy); answer != OwnersAnswer::failed) return answer;
  }
  const bool ended = in.error == ESRCH || team.has_exited(in.peer);
  const int64_t now = sync::now_ns();
  if (in.failed_ns == 0) in.failed_ns = now;
  if (!ended && now - in.failed_ns < end_awaited_ns) return OwnersAnswer::pending;
  status_ = ended ? COLL_ERR_PEER_DIED : COLL_ERR_SYSTEM;
  errno = in.error;
  return OwnersAnswer::failed;
}

// Returns 0 or errno.
int NeighborExchange::copy_direct(In& in) {
  Team& team = *channel_->team;
  const OutEntry& from = *in.from;
  char* to = received_[in.first].data;
  const size_t bytes = in.wanted;
  if (team.members[size_t(in.peer)].peer->same_process()) {
    mem::copy(to, reinterpret_cast<const char*>(uintptr_t(from.address)), bytes);
    return 0;
  }
  if (from.arena_offset == 0) {
    team.traffic.by_kernel += bytes;
    return team.mechanism->read(in.peer, {from.region, from.place, false}, 0, to, bytes);
  }
  const char* memory = team.arena_of(in.peer, from.arena_offset - 1);
  if (memory == nullptr) return EPERM;
  mapped_ = true;
  mem::copy(to, memory, bytes);
  return 0;
}

Run::Progress NeighborExchange::advance() try {
  if (status_ != COLL_OK) return Run::Progress::failed;
  if (left_ == 0) return Run::Progress::done;
  bool moved = false;
  for (Out& out : out_) {
    if (out.over) continue;
    moved |= supply(out);
    left_ -= out.over;
  }
  for (In& in : in_) {
    if (in.over) continue;
    moved |= fetch(in);
    if (status_ != COLL_OK) return fail(), Run::Progress::failed;
    left_ -= in.over;
  }
  if (left_ > 0) return moved ? Run::Progress::moved : Run::Progress::blocked;
  holds_.clear();
  channel_->end(false, 1);
  fetch_next_table();
  return Run::Progress::done;
} catch (const std::bad_alloc&) {
  status_ = COLL_ERR_NO_MEMORY;
  fail();
  return Run::Progress::failed;
}

// Makes the communicator unusable. Owners may still be in the middle of copies.
void NeighborExchange::fail() {
  for (const In& in : in_) channel_->team->abandon(in.copy);
  channel_->team->fail();
}

// As Run::finish() when several lanes wait.
coll_status NeighborExchange::finish() {
  Team& team = *channel_->team;
  Wait wait(team);
  for (;;) {
    switch (advance()) {
      case Run::Progress::done:
      case Run::Progress::failed: return status_;
      case Run::Progress::moved: wait.again(); continue;
      case Run::Progress::blocked: break;
    }
    const sync::WaitStage stage = wait.pause([this] { return awaited().rank; });
    const bool look = wait.looks() || stage == sync::WaitStage::block;
    if (look && team.progress_others != nullptr) team.progress_others(team.progress_context);
    if (stage == sync::WaitStage::block && wait.stays_awake()) continue;
    if (!idle(stage)) return status_;
  }
}

AwaitedPost NeighborExchange::awaited(const Out& out) const {
  if (out.consumed == nullptr) return {&flag(out.peer), base_ + 1, out.peer};
  if (out.entry->how == How::direct) return {out.consumed, all_consumed, out.peer};
  return {out.consumed, out.position.done + wanted_room(out) - out.entry->window_bytes, out.peer};
}

// No sequence: the stream waits for a copy by the sender.
AwaitedPost NeighborExchange::awaited(const In& in) const {
  if (in.error != 0) return {nullptr, 0, in.peer};
  if (in.from == nullptr) return {&flag(in.peer), base_ + 1, in.peer};
  return {&in.from->staged, in.position.done + 1, in.peer};
}

AwaitedPost NeighborExchange::awaited() const {
  for (const In& in : in_)
    if (!in.over) return awaited(in);
  for (const Out& out : out_)
    if (!out.over) return awaited(out);
  return {};
}

bool NeighborExchange::idle(sync::WaitStage stage) {
  if (stage == sync::WaitStage::spin || left_ == 0) return true;
  Team& team = *channel_->team;
  team.make_refused_copies();
  const auto is_lost = [&team](const AwaitedPost& of) {
    return of.sequence != nullptr && team.will_never_post(*of.sequence, of.value, of.rank);
  };
  const bool lost =
      std::any_of(in_.begin(), in_.end(), [&](const In& in) { return !in.over && is_lost(awaited(in)); }) ||
      std::any_of(out_.begin(), out_.end(), [&](const Out& out) { return !out.over && is_lost(awaited(out)); });
  if (lost) {
    fail();
    status_ = COLL_ERR_PEER_DIED;
    return false;
  }
  if (stage == sync::WaitStage::block) {
    const AwaitedPost post = awaited();
    if (post.sequence != nullptr) team.sleep(*post.sequence, post.value, post.rank, nap_us);
    else sync::sleep_us(nap_us);
  }
  return true;
}

// Begins a new verdict. As in find(), a single message is delivered as far as it fits, several only if all lengths agree.
// A message that this rank sends to itself and does not receive is not reported.
void NeighborExchange::copy_own() {
  verdict_ = COLL_OK;
  const auto sum = [](size_t bytes, const Message& message) { return bytes + message.bytes; };
  const size_t sent = std::accumulate(own_sent_.begin(), own_sent_.end(), size_t(0), sum);
  const size_t received = std::accumulate(own_received_.begin(), own_received_.end(), size_t(0), sum);
  const bool match = std::equal(own_sent_.begin(), own_sent_.end(), own_received_.begin(), own_received_.end(),
                                [](const Message& from, const Message& to) { return from.bytes == to.bytes; });
  if (own_received_.empty()) return;
  if (!match) differs(rank_, sent > received || (sent == received && own_sent_.size() > own_received_.size()));
  if (!match && (own_sent_.size() != 1 || own_received_.size() != 1)) return;
  for (size_t i = 0; i < own_received_.size(); i++) {
    const Message &from = own_sent_[i], &to = own_received_[i];
    if (const size_t bytes = std::min(from.bytes, to.bytes); bytes > 0) mem::copy(to.data, from.data, bytes);
  }
}

void NeighborExchange::differs(int peer, bool longer) {
  if (verdict_ == COLL_OK || (longer && verdict_ == COLL_ERR_COUNT)) differing_peer_ = peer;
  if (longer) verdict_ = COLL_ERR_TRUNCATE;
  else if (verdict_ == COLL_OK) verdict_ = COLL_ERR_COUNT;
}

std::string NeighborExchange::problem() const {
  return "what rank " + std::to_string(differing_peer_) + " sends to this rank is " +
         (verdict_ == COLL_ERR_TRUNCATE ? "longer" : "shorter") +
         " than what this rank expects of it; compare the lists of both ranks, in order";
}

}  // namespace coll::exec
