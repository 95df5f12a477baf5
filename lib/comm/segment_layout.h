// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks of a communicator find each other's state, channels and staging in their segment: the same on every rank,
// as it depends on the number of ranks alone. A rank writes to its own parts only, except in
// exec::blocks_alltoall_to_readers(), and the first write to a page commits it on the writer's NUMA node; pages that hold lines of several ranks belong to the first of them that writes.
//
// The segment begins with what all ranks read, the same part of all ranks next to each other: states, Progress, flag lines,
// mailboxes. Of more than topo::small_group ranks the lines of one flag stand next to each other as well, and notes and slots for
// short operations follow: a rank that reads a little of every other one maps few pages. Then come each rank's payloads and long
// staging, and what creation alone needs: the ranks' introductions and the texts of rank 0.
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
// Of the longest ring of the first channel; only what is used costs memory.
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
  size_t texts() const { return texts_; }  // the end of what all ranks know

  // Tells a channel where its parts are in the segment that begins at `base`.
  void place(exec::Channel& channel, int index, char* base) const;

  // What all ranks of many read soon after they have created the communicator: states, Progress and flag lines of the first
  // channel; the first slots. Its pages hold lines of all ranks.
  struct Range {
    size_t offset, bytes;
  };
  const std::vector<Range>& read_first() const { return read_first_; }

 private:
  size_t times_bytes() const { return tune::lines_in_turn * ranks_ * sizeof(tune::TimesLine); }
  struct Slots {
    size_t bytes, in_half;  // of a rank; slots in a half
    size_t begin;
  };

  size_t ranks_;
  size_t state_bytes_, staging_bytes_;
  size_t flag_apart_, flags_apart_;  // a rank's next flag line, the next rank's lines
  size_t mailboxes_apart_, flags_of_channel_;
  size_t states_, times_, progress_, flags_, mailboxes_, notes_, staging_, records_, texts_;
  size_t payloads_bytes_, request_half_bytes_, refused_piece_;
  std::array<std::vector<Slots>, channel_count> slots_;  // the longer the later
  std::vector<Range> read_first_;
};

}  // namespace coll::comm
