// SPDX-License-Identifier: BSD-3-Clause
// A collective as data: for every rank a short program of steps, in lanes that advance by themselves.
//
// Vocabulary
//  vector    what the collective moves: `count` elements of `element_bytes`, bound when the plan runs.
//  piece     what one rank has for another in a collective that moves different data to or from different ranks:
//            piece (s, r) goes from s to r (of an allgather: to everybody; of a reduce-scatter: block r of s's vector).
//            All have `count` elements, or each has its own number (an irregular plan, the v-forms).
//  block     a buffer that holds a piece for every rank, or from every rank, is an array of blocks, one a rank, each
//            at its own offset, which its owner alone knows. Other buffers are one block.
//  range     the part of a vector or of a piece that a step touches: a part of an even partition, cut into chunks (the
//            loop index tells which), of which again one slice may be meant. Offsets are relative to the vector, or
//            to the block that the piece lies in.
//  view      one of a rank's buffers as its peers see it. The owner alone decides, when it publishes, whether a view is
//            *direct* (peers reach the buffer itself) or *staged* (peers find a copy in the owner's slots, a ring of
//            `depth` chunks); readers learn it together with the flag they wait for. A view without a buffer is plain
//            staging. Thus one plan serves every transport, and steps that only one of the two cases needs say so.
//            Of an irregular plan, the owner also tells the offsets of the view's blocks.
//  flag      a 64-bit sequence number with one writer. Values in a plan start at 1; the executor adds the
//            communicator's base, so a flag only ever grows.
//
// Invariants, all checked by the verifier (verify.h)
//  1. A flag is posted by one rank only (flags are numbered per rank, and only the rank itself can post them).
//  2. Values posted on a flag never decrease, and none exceeds last_value() (geometry.h).
//  3. Two accesses to the same bytes, one of them a write, are ordered by flags.
//  4. A rank that has ended its program never has a direct view that a peer may still access.
//  5. `synchronizing` is set only when every rank's end comes after every rank's start.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace coll::plan {

enum class Collective : uint8_t {
  barrier,
  bcast,
  reduce,
  allreduce,
  scatter,
  gather,
  allgather,
  alltoall,
  reduce_scatter,
  scan,
  exscan,
};
inline constexpr int collectives = int(Collective::exscan) + 1;
const char* name(Collective collective);
// What it moves is made of pieces.
constexpr bool has_pieces(Collective c) { return c >= Collective::scatter && c <= Collective::reduce_scatter; }
constexpr bool is_rooted(Collective c) {
  return c == Collective::bcast || c == Collective::reduce || c == Collective::scatter || c == Collective::gather;
}
constexpr bool is_reduction(Collective c) {
  return c == Collective::reduce || c == Collective::allreduce || c >= Collective::reduce_scatter;
}

enum class Kind : uint8_t {
  publish,  // decide how `view` is seen by the peers; comes before the first post that announces it
  copy,     // dst[0] (and dst[1]) = src[0] over `range`
  reduce,  // dst[0] (and dst[1]) = the balanced fold (see Plan::balanced) of all sources over `range`, in this order, or
           // the fold from the right
  post,    // flag = value; left out when it adds the trips of a range and comes to 0
  wait,    // until flag of `rank` >= value; a value <= 0 is met at once
  loop,    // the steps up to the matching `end` once for every chunk of `range`, which may be none; loops do not nest
  end,
};

enum class When : uint8_t {
  always,
  staged,  // only if my own view is staged
  direct,  // only if my own view is direct
};

enum class Space : uint8_t {
  send,  // my own send buffer
  recv,  // my own receive buffer
  view,  // a view of `rank`, my own included
};

// What the value of a post or wait grows by.
enum class Add : uint8_t {
  nothing,
  index,  // the index of the loop's pass, from 0
  trips,  // the number of passes of a loop over `range`
};

inline constexpr uint16_t no_view = 0xffff;
inline constexpr uint16_t no_block = 0xffff;

struct Operand {
  Space space = Space::send;
  uint8_t reserved = 0;
  uint16_t view = no_view;    // Space::view: which
  uint16_t rank = 0;          // Space::view: whose
  uint16_t block = no_block;  // of a buffer or slot that has several
};
static_assert(sizeof(Operand) == 8);

inline constexpr uint16_t no_rank = 0xffff;   // not of a piece but of the vector
inline constexpr uint16_t any_rank = 0xfffe;  // of the longest of several pieces: loops that serve all of them

// The part of a vector or piece that a step touches: part/parts, then chunk, then the slices sub .. sub+span-1 of subs;
// see Geometry.
struct Range {
  uint16_t part = 0, parts = 1;
  uint16_t sub = 0, subs = 1, span = 1;
  uint32_t chunk_bytes = 0;                       // 0: one chunk, whatever its size
  uint16_t sender = no_rank, receiver = no_rank;  // of the piece; one of them or both may be any_rank
  bool is_piece() const { return sender != no_rank; }
  friend bool operator==(const Range&, const Range&) = default;
};

enum class Buffer : uint8_t { none, send, recv };

// Whether the buffer is made of blocks, one a rank.
constexpr bool has_blocks(Collective c, Buffer buffer) {
  if (buffer == Buffer::send)
    return c == Collective::scatter || c == Collective::alltoall || c == Collective::reduce_scatter;
  return buffer == Buffer::recv && (c == Collective::gather || c == Collective::allgather || c == Collective::alltoall);
}

// How many pieces of a call's size one rank shows to the others.
constexpr size_t pieces_shown(Collective c, int ranks) {
  return ranks > 2 && has_blocks(c, Buffer::send) ? size_t(ranks - 1) : 1;
}

// Who moves the data between two ranks: one-to-all is for readers, all-to-one for writers.
enum class Direction : uint8_t { any, read, write };

struct View {
  Buffer buffer = Buffer::none;
  uint8_t reserved = 0;
  uint16_t flag = 0;          // the flag whose line announces it (unused without a buffer)
  uint16_t depth = 1;         // slots in the ring, a power of two
  uint16_t blocks = 1;        // blocks in one slot
  uint32_t slot_bytes = 0;    // bytes of one block of a slot; at least the chunk of every range used with it
  uint32_t slot_offset = 0;   // where the ring begins in the rank's staging; filled in by the builder, as is
  uint32_t table_offset = 0;  // of an irregular plan: where the offsets of the buffer's blocks stand there
};

// One step, 32 bytes of plain data.
struct Step {
  Kind kind = Kind::end;
  When when = When::always;
  uint8_t destinations = 0;  // copy, reduce: 1 or 2
  Add add = Add::nothing;    // post, wait: what is added to the value
  uint16_t sources = 0;      // copy: 1, reduce: 1..ranks
  uint16_t range = 0;        // copy, reduce, loop; post, wait with Add::trips or `within`
  uint16_t rank = 0;         // wait: whose flag
  uint16_t flag = 0;         // post, wait
  uint16_t view = no_view;   // publish: which; with `when`: whose state decides
  bool reused = true;        // copy: the stored data is read again soon (adaptive copy)
  bool within = false;       // post, wait: left out in passes that `range`, a piece, does not have
  int32_t value = 0;         // post, wait; loop: index of the step after its end
  uint32_t operand = 0;      // index of the first operand: destinations, then sources
  uint16_t blocks = 1;       // copy: so many consecutive blocks, from the ones that its operands name
  bool from_right = false;   // reduce: src[0] op (src[1] op (src[2] op ...)) instead of the balanced fold
  uint8_t reserved2[5] = {};
};
static_assert(sizeof(Step) == 32);

struct Lane {
  std::vector<Step> steps;
};

struct Program {
  std::vector<Lane> lanes;
  std::vector<Operand> operands;
};

struct Plan {
  Collective collective = Collective::barrier;
  std::string algorithm;
  std::string parameters;  // "chunk=16384 k=2", for people
  int ranks = 0;
  int root = 0;                // the root it was made for; 0 for rootless collectives
  uint16_t flags = 0;          // flag lines of each rank
  uint32_t staging_bytes = 0;  // staging of each rank, all views
  // Bounds on posted values, the same whichever programs were made: constants, and passes of the longest loop.
  // Generators therefore register the ranges of all ranks, also those that their own rank does not use.
  uint32_t largest_value = 0;
  uint32_t smallest_chunk_bytes = 0;  // 0: no loop
  bool irregular = false;             // pieces of different lengths
  bool synchronizing = false;
  // Reductions: the result is fold(0, ranks), of a scan fold(0, rank + 1), of an exscan fold(0, rank), where
  // fold(i, i + 1) is the input of rank i and fold(i, j) = fold(i, i + m) op fold(i + m, j), m the largest power of two
  // below j - i.
  bool balanced = true;
  // Claims about accesses to other ranks' buffers (direct views), asserted by the verifier; each may be absent.
  Direction direction = Direction::any;
  uint16_t throttle = 0;    // at most so many are open at once on any one rank's buffers, in every interleaving; 0: any
  bool one_reader = false;  // the n-th reads of all ranks go to different ranks each
  std::vector<View> views;  // the same for every rank
  std::vector<Range> ranges;
  std::vector<Program> programs;  // [ranks], or only the caller's own: see `only_rank`
  int only_rank = -1;             // >= 0: programs[0] is this rank's, the others were not made

  const Program& program(int rank) const { return programs[only_rank < 0 ? rank : 0]; }
};

}  // namespace coll::plan
