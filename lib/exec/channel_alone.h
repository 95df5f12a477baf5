// SPDX-License-Identifier: BSD-3-Clause
// A channel of one rank, for plans that need no other rank: the cost of the executor itself is measured and tested on
// it.
#pragma once

#include <cstdlib>
#include <memory>

#include "exec/channel.h"
#include "transport/peer.h"

namespace coll::exec {

class ChannelAlone {
 public:
  // `ranks`: for plans that are bound to the channel but not run; the memory of all ranks is then this rank's.
  explicit ChannelAlone(int ranks = 1)
      : flags_(std::make_unique<sync::FlagLine[]>(max_flags)),
        mailboxes_(std::make_unique<Mailbox[]>(mailboxes)),
        progress_(std::make_unique<Progress>()),
        state_(std::make_unique<RankState>()),
        staging_(new char[2 * half_bytes]()) {
    team_.ranks = ranks;
    team_.members.push_back({state_.get(), nullptr, transport::Peer::reach(transport::own_address())});
    channel_.team = &team_;
    channel_.flag_parts = {reinterpret_cast<char*>(flags_.get()), 0};
    channel_.mailbox_parts = {reinterpret_cast<char*>(mailboxes_.get()), 0};
    channel_.progress_parts = {reinterpret_cast<char*>(progress_.get()), 0};
    channel_.rings.push_back({.parts = {staging_.get(), 0}, .half_bytes = half_bytes, .half_stride = half_bytes});
  }
  Channel& channel() { return channel_; }

 private:
  static constexpr size_t half_bytes = 1 << 20;
  std::unique_ptr<sync::FlagLine[]> flags_;
  std::unique_ptr<Mailbox[]> mailboxes_;
  std::unique_ptr<Progress> progress_;
  std::unique_ptr<RankState> state_;
  std::unique_ptr<char[]> staging_;
  Team team_;
  Channel channel_;
};

}  // namespace coll::exec
