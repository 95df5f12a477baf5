// SPDX-License-Identifier: BSD-3-Clause
// What the generators share: rings, staged views, waits for several flags.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <string>
#include <vector>

#include "algo/registry.h"
#include "plan/builder.h"
#include "plan/geometry.h"

namespace coll::algo {

using plan::all_iterations;
using plan::any_rank;
using plan::Buffer;
using plan::Builder;
using plan::Collective;
using plan::constant;
using plan::iteration_before;
using plan::iteration_before_of;
using plan::LaneBuilder;
using plan::Only;
using plan::Operand;
using plan::own_recv;
using plan::own_send;
using plan::Plan;
using plan::seen;
using plan::this_iteration;
using plan::this_iteration_of;
using plan::Value;

// The slots of a view, `depth` chunks that consecutive iterations use in turn.
struct Ring {
  uint32_t chunk_bytes;  // a multiple of a cache line
  uint16_t depth;        // a power of two
};
// The ring that the parameters ask for; chunk_bytes 0: with their chunk. It has at most 256 MiB, so that the offsets of
// a plan's views (exec::max_views) fit 32 bits. REQUIRES: request.parameters.depth is a power of two.
inline Ring ring_of(const PlanRequest& request, uint32_t chunk_bytes = 0) {
  constexpr uint32_t line = plan::cache_line_bytes, largest_chunk = 128u << 20, largest_ring = 2 * largest_chunk;
  if (chunk_bytes == 0) chunk_bytes = request.parameters.chunk_bytes;
  const uint32_t chunk = (std::clamp(chunk_bytes, line, largest_chunk) + line - 1) / line * line;
  assert(std::has_single_bit(request.parameters.depth));
  const uint16_t depth = std::bit_floor(std::clamp<uint16_t>(request.parameters.depth, 1, 1024));
  return {chunk, uint16_t(std::min<uint32_t>(depth, std::bit_floor(largest_ring / chunk)))};
}

// As ring_of(), for a plan whose views hold `blocks` chunks per iteration, all together. They have room for 64 of the
// requested chunks, at least 1 MiB and at most the request's room: more would leave the caches before it is read. To stay
// within it, first the ring becomes shorter, down to 2 slots, then the chunk smaller, down to a cache line, with which
// very many blocks may exceed the room.
inline Ring ring_of_blocks(const PlanRequest& request, int blocks) {
  constexpr size_t line = plan::cache_line_bytes;
  Ring ring = ring_of(request);
  const size_t room = room_for_blocks(ring.chunk_bytes, request.room_bytes) / size_t(std::max(blocks, 1));
  while (ring.depth > 2 && size_t(ring.depth) * ring.chunk_bytes > room) ring.depth /= 2;
  ring.chunk_bytes = uint32_t(std::clamp(room / ring.depth / line * line, line, size_t(ring.chunk_bytes)));
  return ring;
}

inline Builder start(Collective what, std::string name, const PlanRequest& request) {
  return Builder(what, std::move(name), request.hierarchy->ranks(), request.root, request.only_rank, request.irregular);
}

// A view as generators use it. Plain staging (Buffer::none) shows no buffer of a rank, so it is never direct, and is not
// published; its flag is free for the generator.
struct StagedView {
  uint16_t view;
  uint16_t flag;
  bool plain;

  StagedView(Builder& b, Buffer buffer, Ring ring, int blocks = 1)
      : view(b.view(buffer, ring.chunk_bytes, ring.depth, uint16_t(blocks))),
        flag(b.view_flag(view)),
        plain(buffer == Buffer::none) {}

  Only staged() const { return plain ? Only{} : plan::if_staged(view); }  // always, if the view is plain
  Only direct() const { return plan::if_direct(view); }                   // REQUIRES: !plain
  Operand of(int rank, int block = plan::no_block) const { return seen(view, rank, block); }
  void publish(LaneBuilder& lane) const {
    if (!plain) lane.publish(view);
  }
  // For data that is complete before the plan starts: publishes the view, and announces all iterations at once if it is
  // direct. For a staged view the generator posts each iteration.
  void announce(LaneBuilder& lane, uint16_t range) const {
    if (!plain) lane.publish(view).post(flag, all_iterations(range), direct());
  }
};

// A range over piece (sender, receiver); either may be any_rank.
inline uint16_t piece(Builder& b, int sender, int receiver, uint32_t chunk_bytes) {
  return b.range({.chunk_bytes = chunk_bytes, .sender = uint16_t(sender), .receiver = uint16_t(receiver)});
}

// The ranks in ascending order without `left_out`; -1: all.
inline std::vector<int> all_but(int ranks, int left_out) {
  std::vector<int> others;
  others.reserve(size_t(ranks));
  for (int rank = 0; rank < ranks; ++rank)
    if (rank != left_out) others.push_back(rank);
  return others;
}

inline void wait_each(LaneBuilder& lane, const std::vector<int>& ranks, uint16_t flag, Value value, Only only = {}) {
  for (int rank : ranks) lane.wait(rank, flag, value, only);
}
inline void wait_others(LaneBuilder& lane, const std::vector<int>& ranks, int own, uint16_t flag, Value value,
                        Only only = {}) {
  for (int rank : ranks)
    if (rank != own) lane.wait(rank, flag, value, only);
}

// Cuts every chunk into one slice per member of a group.
class Slices {
 public:
  Slices() = default;
  Slices(Builder& b, int members, uint32_t chunk_bytes) {
    const auto range = [&](int first, int count) {
      return b.range(
          {.sub = uint16_t(first), .subs = uint16_t(members), .span = uint16_t(count), .chunk_bytes = chunk_bytes});
    };
    for (int index = 0; index < members; ++index) {
      own_.push_back(range(index, 1));
      others_.emplace_back();
      if (index > 0) others_.back().push_back(range(0, index));
      if (index + 1 < members) others_.back().push_back(range(index + 1, members - index - 1));
    }
  }
  uint16_t of(int index) const { return own_[size_t(index)]; }
  // All slices except that of `index`: those below it, then those above it, as far as there are any.
  const std::vector<uint16_t>& others(int index) const { return others_[size_t(index)]; }

 private:
  std::vector<uint16_t> own_;
  std::vector<std::vector<uint16_t>> others_;
};

// The plan for a single rank: no step, or one copy. For tools, the simulator and tests: a communicator of one rank copies
// without a plan.
inline Plan alone(Collective what, const char* name, const PlanRequest& request) {
  Builder b = start(what, name, request);
  if (what == Collective::allreduce) b.synchronizing();
  const bool moves = what != Collective::bcast && what != Collective::exscan;
  const auto block = [&](Buffer buffer) { return plan::has_blocks(what, buffer) ? 0 : int(plan::no_block); };
  const uint16_t whole = plan::has_pieces(what) ? piece(b, 0, 0, 0) : b.range({});
  for (int rank : b.ranks()) {
    LaneBuilder lane = b.lane(rank);
    if (moves) lane.copy(whole, own_recv(block(Buffer::recv)), own_send(block(Buffer::send)));
  }
  return b.finish();
}

}  // namespace coll::algo
