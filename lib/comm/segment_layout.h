// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks of a communicator find each other's state, channels and staging rings in their segment: the same on
// every rank, as it depends on the number of ranks alone. A rank writes to its own parts only, and the first write to a
// page commits it on the writer's NUMA node.
//
// The segment begins with what all ranks read: the states of all ranks next to each other, then how far each is on each
// channel, a few lines of all ranks that share pages, then the first channel of all ranks, and so on, so that few pages of
// page tables map it. Each rank's staging follows, then the texts of rank 0.
#pragma once

#include <cstddef>

#include "exec/channel.h"
#include "exec/team.h"

namespace coll::comm {

inline constexpr int request_channels = 4;  // for non-blocking collectives
inline constexpr int channel_count = 1 + request_channels;
inline constexpr size_t half_bytes = size_t(4) << 20;  // of every channel's ring; only what is used costs memory

class SegmentLayout {
 public:
  explicit SegmentLayout(int ranks);

  // Offsets of rank's parts. Each begins on a page of its own, except progress().
  size_t state(int rank) const { return states_ + size_t(rank) * state_bytes_; }  // exec::RankState
  size_t stamps(int rank) const { return state(rank) + stamps_in_state_; }        // [comm::stamps] Stamp
  size_t progress(int rank, int index) const {                                    // exec::Progress
    return progress_ + (size_t(index) * ranks_ + size_t(rank)) * sizeof(exec::Progress);
  }
  size_t channel(int rank, int index) const {  // exec::ChannelMemory
    return channels_ + (size_t(index) * ranks_ + size_t(rank)) * channel_bytes_;
  }
  // On a boundary of huge pages, or just behind it.
  size_t payloads(int rank) const { return staging_ + size_t(rank) * staging_bytes_; }  // of the first channel
  size_t staging(int rank, int index) const {
    return payloads(rank) + exec::payloads_bytes + size_t(index) * 2 * half_bytes;
  }
  size_t refused_piece(int rank) const { return staging(rank, channel_count); }  // [exec::refused_piece_bytes]
  size_t texts() const { return texts_; }                                        // the end of what all ranks know

 private:
  size_t ranks_;
  size_t state_bytes_, stamps_in_state_, channel_bytes_, staging_bytes_;
  size_t states_, progress_, channels_, staging_, texts_;
};

}  // namespace coll::comm
