// SPDX-License-Identifier: BSD-3-Clause
// A rank's shared memory of one communicator, in its own arena: state, channels, staging rings. And when it may go.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "exec/channel.h"
#include "exec/team.h"

namespace coll::comm {

inline constexpr int request_channels = 4;  // for non-blocking collectives
inline constexpr int channel_count = 1 + request_channels;
inline constexpr size_t half_bytes = size_t(4) << 20;  // of every channel's ring; only what is used costs memory

// Where things lie in a block; the same on every rank.
struct BlockLayout {
  size_t state = 0;                    // exec::RankState
  size_t left_by = 0;                  // [ranks] bytes: peer q has left and touches this block no more
  size_t stamps = 0;                   // [comm::stamps] Stamp
  size_t channel[channel_count] = {};  // exec::ChannelMemory
  size_t payloads = 0;  // of the first channel; at a boundary of huge pages or just behind it, as what follows
  size_t staging[channel_count] = {};
  size_t bytes = 0;

  explicit BlockLayout(int ranks);
};

// Gives blocks back once every peer has left its communicator or ended: a slow reader may still need what a faster
// rank, which has freed its communicator, staged for it. Whoever makes or frees a communicator sweeps.
class Graveyard {
 public:
  struct Grave {
    char* block;
    int own_rank;
    BlockLayout layout;
    std::vector<exec::Member> members;  // keeps the peers' arenas mapped
  };
  static void bury(Grave grave);
  static void sweep();
};

}  // namespace coll::comm
