// SPDX-License-Identifier: BSD-3-Clause
// A sparse exchange: each rank has messages for a few peers and from a few, and knows only its own. The cost grows with
// a rank's neighbours, not with the number of ranks. No plan can be bound for it: a receiver learns lengths with the
// data, so that lengths that differ are an error and not a hang. lib/algo/neighbor_exchange.h has the same protocol as
// a plan, for the verifier.
//
// Protocol. All messages from rank a to rank b are one stream, in the order in which a lists them; b takes them in the
// order in which b lists its messages from a. Rank a writes a table into its part of the operation's staging, then
// posts value 1 of its flag 0:
//   for each receiver its stream: the length, and the place: in a's memory, which the receiver accesses, or staged in a
//           window behind the table. A stream that fits its window is complete when the flag is posted.
//   for each sender a count: the bytes that a has consumed of its stream.
// A receiver finds its stream by its rank; if a longer one is staged, `staged` and `consumed` grow in turn. A sender
// ends when each of its streams is completely staged, or else consumed.
//
// Invariants
//  1. All of it is in the staging of one operation, which is the same on every rank and is reused like that of plans
//     (channel.h).
//  2. After the flag, only `staged` and `consumed` of a table change; the rank whose table it is writes them.
//  3. consumed == all_consumed: the receiver takes no more of the stream, even if the sender has more.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "coll/coll.h"
#include "exec/channel.h"
#include "exec/run.h"

namespace coll::exec {

class NeighborExchange {
 public:
  // Bytes for the table and the windows with this many ranks.
  static size_t staging_bytes(int ranks);
  // The most different peers on either side; with so many, the windows still have room.
  static constexpr size_t most_peers = 2048;

  // Copies the lists, not the data that they point to. May be called again when the exchange is over; it keeps its
  // memory. REQUIRES: peers are ranks, sums of bytes do not overflow. Throws std::bad_alloc.
  void describe(std::span<const coll_outgoing> sends, std::span<const coll_incoming> receives, int rank);

  // The larger number of different peers that it sends to, or receives from.
  size_t peers() const { return std::max(out_.size(), in_.size()); }
  size_t sent_bytes() const { return sent_bytes_; }

  // The same interface as Run's; begin() does not throw. One exchange at a time per channel.
  coll_status begin(Channel& channel);
  Run::Progress advance();
  coll_status finish();
  bool idle(sync::WaitStage stage);
  AwaitedPost awaited() const;
  coll_status status() const { return status_; }
  bool used_mapped_memory() const { return mapped_; }
  // Copies the messages of this rank to itself. Without peers that is the whole exchange.
  void copy_own();

  // Whether messages had the lengths that this rank expected: TRUNCATE if one was longer, otherwise COUNT if one was
  // shorter. problem() describes the first such message. REQUIRES: the exchange has ended with OK.
  coll_status verdict() const { return verdict_; }
  std::string problem() const;

 private:
  struct Message {
    int peer;
    char* data;
    size_t bytes;
  };
  // Messages [first, first + messages) of `sent_` or `received_`.
  struct Stream {
    int peer;
    uint32_t first, messages;
    uint64_t bytes;
    uint64_t lengths;  // digest of the lengths, if there are several messages
  };
  struct OutEntry;
  struct InEntry;
  struct Table;
  // How far a stream has come: bytes in all, the current message, and the offset in it.
  struct Position {
    uint64_t done = 0;
    uint32_t message = 0;
    size_t at = 0;
  };
  struct Out : Stream {
    Position position;
    OutEntry* entry = nullptr;
    char* window = nullptr;
    const std::atomic<uint64_t>* consumed = nullptr;  // the receiver's; null: not found yet
    bool over = false;
  };
  struct In : Stream {
    Position position;
    InEntry* entry = nullptr;
    const OutEntry* from = nullptr;  // null: the sender's table is not there yet
    uint64_t wanted = 0;
    int error = 0;          // of a direct copy that this rank could not make
    OwnersCopy copy;        // the owner makes it instead; owner < 0: not asked
    int64_t failed_ns = 0;  // when neither could make it; 0: not so far
    bool over = false;
  };

  // End: Out or In.
  template <typename End>
  static void collect(std::vector<Message>& messages, std::vector<End>& ends);
  void write_table();
  void fetch_next_table();
  bool is_same(const Out& a, const Out& b) const;
  bool show(Out& out);
  void stage(Out& out, uint64_t consumed);
  uint64_t wanted_room(const Out& out) const;
  bool has_table(int rank) const { return flag(rank).load(std::memory_order_acquire) > base_; }
  std::atomic<uint64_t>& flag(int rank) const { return channel_->flag(rank, 0).sequence; }
  Table& table(int rank) const;
  bool supply(Out& out);
  bool fetch(In& in);
  void find(In& in);
  OwnersAnswer fetch_direct(In& in);
  int copy_direct(In& in);
  void differs(int peer, bool longer);
  void fail();
  AwaitedPost awaited(const Out& out) const;
  AwaitedPost awaited(const In& in) const;
  // Calls copy(data, length) for the next `bytes` bytes of a stream, message by message.
  template <typename Copy>
  static void visit(const std::vector<Message>& messages, const Stream& stream, Position& position, size_t bytes,
                    Copy copy);

  int rank_ = 0;
  std::vector<Message> sent_, received_;  // by peer, then as listed
  std::vector<Message> own_sent_, own_received_;
  std::vector<Out> out_;
  std::vector<In> in_;
  size_t sent_bytes_ = 0;

  Channel* channel_ = nullptr;
  size_t staging_offset_ = 0;
  uint64_t base_ = 0;
  size_t left_ = 0;  // streams that are not over
  bool mapped_ = false;
  coll_status status_ = COLL_OK, verdict_ = COLL_OK;
  int differing_peer_ = -1;
  std::vector<transport::Hold> holds_;
};

}  // namespace coll::exec
