// SPDX-License-Identifier: BSD-3-Clause
// A channel of one rank, for plans that need no other: what the executor itself costs is measured and tested on it.
#pragma once

#include <cstdlib>
#include <memory>

#include "exec/channel.h"
#include "transport/peer.h"

namespace coll::exec {

class ChannelAlone {
 public:
  ChannelAlone()
      : memory_(std::make_unique<ChannelMemory>()),
        progress_(std::make_unique<Progress>()),
        state_(std::make_unique<RankState>()),
        staging_(new char[2 * half_bytes]()) {
    team_.members.push_back({state_.get(), nullptr, transport::Peer::reach(transport::own_address())});
    channel_.team = &team_;
    channel_.half_bytes = half_bytes;
    channel_.members.push_back({memory_.get(), staging_.get(), progress_.get()});
    channel_.seen.resize(max_views);
  }
  Channel& channel() { return channel_; }

 private:
  static constexpr size_t half_bytes = 1 << 20;
  std::unique_ptr<ChannelMemory> memory_;
  std::unique_ptr<Progress> progress_;
  std::unique_ptr<RankState> state_;
  std::unique_ptr<char[]> staging_;
  Team team_;
  Channel channel_;
};

}  // namespace coll::exec
