// SPDX-License-Identifier: BSD-3-Clause
// Offsets of the state, channels and staging of every rank in the communicator's segment. They depend on the number of
// ranks alone, so they are the same on every rank. A rank writes to its own parts only, except in
// exec::blocks_alltoall_to_readers(). The first write to a page commits it on the writer's NUMA node; a page with lines
// of several ranks is committed on the node of the first rank that writes.
//
// The segment begins with the parts that all ranks read; the same part of all ranks is contiguous: states, Progress,
// flag lines, mailboxes. With more than topo::small_group ranks the lines of one flag are contiguous as well, and notes
// and slots for short operations follow, so that a rank that reads a little from every peer maps few pages. Then come
// each rank's payloads and long staging, and the parts that only the creation needs: the ranks' introductions and
// rank 0's texts.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "algo/registry.h"
#include "comm/introduction.h"
#include "exec/channel.h"
#include "exec/team.h"
#include "tune/tuner.h"

namespace coll::comm {

inline constexpr int request_channels = 4;  // for non-blocking collectives
inline constexpr int channel_count = 1 + request_channels;
// A half of the longest ring of the first channel. Unused pages cost no memory.
inline constexpr size_t half_bytes = algo::usual_room_bytes;

class SegmentLayout {
 public:
  explicit SegmentLayout(int ranks);

  size_t state(int rank) const { return states_ + size_t(rank) * state_bytes_; }  // exec::RankState
  size_t times(int channel) const {
    return times_ + size_t(channel) * times_bytes();
  }  // [lines_in_turn][ranks] TimesLine
  size_t payloads(int rank) const { return staging_ + size_t(rank) * staging_bytes_; }  // [payloads_bytes()]
  size_t payloads_bytes() const { return payloads_bytes_; }
  size_t refused_piece(int rank) const { return payloads(rank) + refused_piece_; }        // [exec::refused_piece_bytes]
  size_t record(int rank) const { return records_ + size_t(rank) * sizeof(RankRecord); }  // comm::RankRecord
  size_t texts() const { return texts_; }  // the end of the part whose length all ranks know

  // Sets the addresses of the channel's parts in the segment that begins at `base`.
  void place(exec::Channel& channel, int index, char* base) const;

  // The ranges that every rank reads soon after the creation: states, Progress, the first flag lines of the first
  // channel, and its first slots. Their pages hold lines of all ranks. Empty up to topo::small_group ranks.
  struct Range {
    size_t offset, bytes;
  };
  const std::vector<Range>& read_first() const { return read_first_; }

 private:
  size_t times_bytes() const { return tune::lines_in_turn * ranks_ * sizeof(tune::TimesLine); }
  struct Slots {
    size_t bytes, in_half;  // of one slot; slots of a rank in a half
    size_t begin;
  };

  size_t ranks_;
  size_t state_bytes_, staging_bytes_;
  size_t flag_stride_, flags_stride_;  // distance to a rank's next flag line, to the next rank's lines
  size_t mailboxes_stride_, flags_of_channel_;
  size_t states_, times_, progress_, flags_, mailboxes_, notes_, staging_, records_, texts_;
  size_t payloads_bytes_, request_half_bytes_, refused_piece_;
  std::array<std::vector<Slots>, channel_count> slots_;  // by increasing length
  std::vector<Range> read_first_;
};

}  // namespace coll::comm
