// SPDX-License-Identifier: BSD-3-Clause
// One operation of the latency paths of more than 16 ranks (latency_blocks.cc, latency_reductions.cc) whose ranks show
// data in notes, or in staging if a note is too short. It waits for peers and detects lengths that differ between
// ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "exec/channel.h"
#include "mem/copy.h"
#include "mem/fetch.h"

namespace coll::exec {

// The kinds of notes of a rank: its own data, and the data that it has collected from its group.
enum Which : int { own, packed };

inline const char* bytes_of(const void* data) { return static_cast<const char*>(data); }

// An operation that has begun: its staging, and the error that it has found in the data of peers.
class Exchange {
 public:
  // `bytes`: length of a block. A rank stages `first` bytes of its own data and `second` bytes of collected data; data
  // that fit a note need no staging. `writes`: this rank writes a note or staging.
  Exchange(Channel& channel, size_t bytes, size_t first, size_t second, bool writes)
      : channel_(channel),
        team_(*channel.team),
        bytes_(bytes),
        sizes_{first, second},
        offsets_{0, in_note(first) ? 0 : (first + sync::line_bytes - 1) / sync::line_bytes * sync::line_bytes} {
    const size_t staging = offsets_[1] + (in_note(second) ? 0 : second);
    status_ = channel.begin_with_notes(staging, writes, &slot_);
    if (status_ != COLL_OK) return;
    if (staging > 0) {
      parts_ = channel.ring_of(staging).parts;
      if (writes) channel.touch_staging(staging);
    }
    if (team_.oversubscribed) team_.publish_core();
  }

  coll_status status() const { return status_; }

  // Address of a rank's data of that kind.
  char* data(int rank, Which which) const {
    if (in_note(sizes_[which])) return channel_.note(rank, which).payload;
    return parts_.of(rank) + slot_ + offsets_[which];
  }
  // Publishes this rank's data of that kind.
  void show(Which which) {
    Note& note = channel_.note(team_.rank, which);
    note.bytes = shown_;
    sync::post(note.sequence, channel_.operation);
    team_.posted();
  }

  bool is_there(int rank, Which which) const {
    return sync::seen(channel_.note(rank, which).sequence) >= channel_.operation;
  }
  // Waits for a rank's data of that kind. Returns false if the rank has exited.
  bool await(int rank, Which which, bool for_it_alone = false) {
    if (is_there(rank, which)) [[likely]]
      return true;
    status_ = team_.wait(channel_.note(rank, which).sequence, channel_.operation, rank, for_it_alone);
    return status_ == COLL_OK;
  }
  // The same for several notes. An oversubscribed rank first waits for the ranks that need its core, then for the
  // others, which do not wait for it.
  template <typename Each>
  bool await_each(size_t count, Each each) {
    for (const bool all : {false, true}) {
      if (!all && !team_.oversubscribed) continue;
      for (size_t i = 0; i < count; i++) {
        const auto [rank, which] = each(i);
        if (rank == team_.rank || is_there(rank, which) || !(all || team_.may_share_core(rank))) continue;
        if (!await(rank, which, all && team_.oversubscribed)) return false;
      }
    }
    return true;
  }
  // Whether a rank's data have the length that this rank expects; only then may they be read.
  bool fits(int rank, Which which) {
    const uint64_t shown = channel_.note(rank, which).bytes;
    if (shown == bytes_) [[likely]]
      return true;
    // Remembers the greatest length, and that lengths differ, for the note of this rank: ranks that read its collected
    // data then detect it, too.
    const uint64_t length = shown & ~unlike;
    shown_ = std::max(shown_ & ~unlike, length) | unlike;
    if (wrong_ != COLL_ERR_TRUNCATE) wrong_ = length > bytes_ ? COLL_ERR_TRUNCATE : COLL_ERR_COUNT;
    return false;
  }

  coll_status end(bool synchronizing) {
    channel_.end(synchronizing, 0);
    return wrong_;
  }
  // The same for a rank that wrote a note of that kind: it will probably write the next one, too, and prefetches its
  // lines for write.
  coll_status end(bool synchronizing, Which wrote) {
    mem::fetch_for_writing(&channel_.next_note(wrote), sizeof(Note));
    return end(synchronizing);
  }

 private:
  // Flag in a note's length: some of the data that it was made from have another length.
  static constexpr uint64_t unlike = uint64_t(1) << 63;
  static bool in_note(size_t bytes) { return bytes <= Note::payload_bytes; }

  Channel& channel_;
  Team& team_;
  size_t bytes_;
  uint64_t shown_ = bytes_;
  size_t sizes_[2], offsets_[2];
  size_t slot_ = 0;
  Parts parts_;
  coll_status status_ = COLL_OK, wrong_ = COLL_OK;
};

// For blocks of 4 and 8 bytes, a call would take longer than the copy.
inline void copy_block(char* to, const char* from, size_t bytes) {
  if (bytes == 8) std::memcpy(to, from, 8);
  else if (bytes == 4) std::memcpy(to, from, 4);
  else mem::copy(to, from, bytes);
}

inline void keep_own(char* to, const char* from, size_t bytes) {
  if (to != from) copy_block(to, from, bytes);
}

inline Which kind_of(const std::vector<int>& members) { return members.size() > 1 ? packed : own; }

}  // namespace coll::exec
