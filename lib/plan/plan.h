// SPDX-License-Identifier: BSD-3-Clause
// A collective as data: for every rank a short program of steps, in lanes that advance independently.
//
// Vocabulary
//  vector    the `count` elements of `element_bytes` each that the collective moves; bound when the plan runs.
//  piece     the data that one rank has for one other rank in a collective with different data for different ranks:
//            piece (s, r) goes from s to r (in an allgather, from s to all ranks; in a reduce-scatter, it is block r of
//            s's vector). All pieces have `count` elements, or each has its own length (an irregular plan, the
//            v-forms).
//  block     the part for one rank of a buffer that holds a piece for every rank, or from every rank. Each block is at
//            its own offset, which only the buffer's owner knows. Other buffers are one block.
//  range     the part of a vector or a piece that a step touches: one part of an even partition, cut into chunks (the
//            loop index selects the chunk), or one slice of each chunk. Offsets are relative to the vector, or to the
//            start of the block that holds the piece.
//  view      one of a rank's buffers as its peers see it. When the owner publishes the view, it alone decides whether
//            the view is *direct* (peers access the buffer itself) or *staged* (peers find a copy in the owner's slots,
//            a ring of `depth` chunks); readers learn the decision together with the flag that they wait for. A view
//            without a buffer is plain staging. One plan therefore serves every transport, and steps that only one of
//            the two cases needs are conditional. In an irregular plan, the owner also publishes the offsets of the
//            view's blocks.
//  flag      a 64-bit sequence number with one writer. Values in a plan start at 1; the executor adds the
//            communicator's base, so a flag increases monotonically.
//
// Invariants, all checked by the verifier (verify.h)
//  1. Only one rank posts a flag (flags are numbered per rank, and only the rank itself can post them).
//  2. Values posted on a flag never decrease, and none exceeds last_value() (geometry.h).
//  3. Two accesses to the same bytes, one of them a write, are ordered by flags.
//  4. A rank that has ended its program never has a direct view that a peer may still access.
//  5. `synchronizing` is set only if every rank's end comes after every rank's start.
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
// Whether the collective moves pieces instead of one vector.
constexpr bool has_pieces(Collective c) { return c >= Collective::scatter && c <= Collective::reduce_scatter; }
constexpr bool is_rooted(Collective c) {
  return c == Collective::bcast || c == Collective::reduce || c == Collective::scatter || c == Collective::gather;
}
constexpr bool is_reduction(Collective c) {
  return c == Collective::reduce || c == Collective::allreduce || c >= Collective::reduce_scatter;
}

enum class Kind : uint8_t {
  publish,  // the owner decides how its peers see `view`; comes before the first post that announces it
  copy,     // dst[0] (and dst[1]) = src[0] over `range`
  reduce,   // dst[0] (and dst[1]) = the balanced fold (see Plan::balanced) of all sources over `range`, in this order,
            // or the fold from the right
  post,     // flag = value; skipped if Add::trips adds to the value and the sum is 0
  wait,     // waits until flag of `rank` >= value; a value <= 0 is met at once
  loop,     // runs the steps up to the matching `end` once per chunk of `range`, possibly never; loops do not nest
  end,
};

enum class When : uint8_t {
  always,
  staged,  // only if the rank's own view is staged
  direct,  // only if the rank's own view is direct
};

enum class Space : uint8_t {
  send,  // the rank's own send buffer
  recv,  // the rank's own receive buffer
  view,  // a view of `rank`, which may be the rank itself
};

// What is added to the value of a post or wait.
enum class Add : uint8_t {
  nothing,
  index,  // the index of the loop's iteration, from 0
  trips,  // the number of iterations of a loop over `range`
};

inline constexpr uint16_t no_view = 0xffff;
inline constexpr uint16_t no_block = 0xffff;

struct Operand {
  Space space = Space::send;
  uint8_t reserved = 0;
  uint16_t view = no_view;    // Space::view: index of the view
  uint16_t rank = 0;          // Space::view: its owner
  uint16_t block = no_block;  // of a buffer or slot with several blocks
};
static_assert(sizeof(Operand) == 8);

inline constexpr uint16_t no_rank = 0xffff;   // the range is part of the vector, not of a piece
inline constexpr uint16_t any_rank = 0xfffe;  // the longest of several pieces: for loops that serve all of them

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

// Whether the buffer consists of blocks, one per rank.
constexpr bool has_blocks(Collective c, Buffer buffer) {
  if (buffer == Buffer::send)
    return c == Collective::scatter || c == Collective::alltoall || c == Collective::reduce_scatter;
  return buffer == Buffer::recv && (c == Collective::gather || c == Collective::allgather || c == Collective::alltoall);
}

// The number of pieces, each of the size that the call names, that one rank shows to the others.
constexpr size_t pieces_shown(Collective c, int ranks) {
  return ranks > 2 && has_blocks(c, Buffer::send) ? size_t(ranks - 1) : 1;
}

// Which side moves the data between two ranks: readers in a one-to-all, writers in an all-to-one.
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
  bool reused = true;        // copy: false: no rank reads the stored data again (lib/mem/adaptive.h)
  bool within = false;       // post, wait: skipped in iterations that `range`, a piece, does not have
  int32_t value = 0;         // post, wait; loop: index of the step after its end
  uint32_t operand = 0;      // index of the first operand: destinations, then sources
  uint16_t blocks = 1;       // copy: number of consecutive blocks, from the ones that its operands name
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
  std::string parameters;  // "chunk=16384 k=2", for human readers
  int ranks = 0;
  int root = 0;                // the root that the plan was made for; 0 for rootless collectives
  uint16_t flags = 0;          // flag lines of each rank
  uint32_t staging_bytes = 0;  // staging of each rank, for all views
  // Bounds on posted values: constants, and iterations of the longest loop. They must be the same whichever programs
  // were made, so generators register the ranges of all ranks, also those that their own rank does not use.
  uint32_t largest_value = 0;
  uint32_t smallest_chunk_bytes = 0;  // 0: no loop
  bool irregular = false;             // pieces of different lengths
  bool synchronizing = false;
  // Reductions: the result is fold(0, ranks); that of a scan is fold(0, rank + 1), that of an exscan fold(0, rank).
  // fold(i, i + 1) is the input of rank i, and fold(i, j) = fold(i, i + m) op fold(i + m, j), where m is the largest
  // power of two below j - i.
  bool balanced = true;
  // Claims about accesses to other ranks' buffers (direct views), which the verifier checks; each is optional.
  Direction direction = Direction::any;
  uint16_t throttle = 0;    // maximum concurrent accesses to one rank's buffers in every interleaving; 0: unlimited
  bool one_reader = false;  // the n-th reads of all ranks have different sources
  std::vector<View> views;  // the same for every rank
  std::vector<Range> ranges;
  std::vector<Program> programs;  // [ranks], or one rank's program only: see `only_rank`
  int only_rank = -1;             // >= 0: programs[0] is this rank's, the others were not made

  const Program& program(int rank) const { return programs[only_rank < 0 ? rank : 0]; }
};

}  // namespace coll::plan
