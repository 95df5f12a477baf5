// SPDX-License-Identifier: BSD-3-Clause
#include "exec/channel.h"

#include <algorithm>

#include "transport/shared_file.h"

namespace coll::exec {

bool Channel::is_everybody_done(uint64_t number) {
  if (known_done(number)) return true;
  uint64_t least = operation;
  for (const ChannelMember& member : members)
    if (&member != &own()) least = std::min(least, member.progress->done.load(std::memory_order_acquire));
  everybody_done_ = std::max(everybody_done_, least);
  return everybody_done_ >= number;
}

coll_status Channel::everybody_done(uint64_t number) {
  if (is_everybody_done(number)) return COLL_OK;
  for (int rank = 0; rank < team->ranks; rank++) {
    if (rank == team->rank) continue;
    coll_status status = team->wait(progress(rank).done, number, rank);
    if (status != COLL_OK) return status;
  }
  everybody_done_ = std::max(everybody_done_, number);
  return COLL_OK;
}

bool Channel::fits_here(size_t staging_bytes) const {
  if (position_ == 0) return staging_bytes <= half_bytes;
  const bool alone = !starts_over && 2 * staging_bytes >= walk_bytes;
  return !alone && position_ + staging_bytes <= std::min(half_bytes, walk_bytes);
}

// The same in every rank: it depends on what all ranks know alike.
Channel::Place Channel::next(size_t staging_bytes) const {
  if (!fits_here(staging_bytes) || (starts_over && last_use_[1 - half_] <= synchronized_)) return {1 - half_, 0};
  return {half_, position_};
}

bool Channel::may_begin(size_t staging_bytes) {
  if (staging_bytes == 0) return true;
  const size_t half = next(staging_bytes).half;
  return half == half_ || is_everybody_done(last_use_[half]);
}

bool Channel::idle(sync::Rung rung) {
  const uint64_t number = last_use_[1 - half_];
  for (int rank = 0; rank < team->ranks; rank++) {
    if (rank == team->rank) continue;
    const std::atomic<uint64_t>& done = progress(rank).done;
    if (done.load(std::memory_order_acquire) >= number) continue;
    if (team->lost(done, number, rank)) return team->fail(), false;
    if (rung == sync::Rung::sleep) return team->sleep(done, number, rank, nap_us), true;
  }
  return true;
}

coll_status Channel::begin(size_t staging_bytes, size_t* offset) {
  operation++;
  *offset = 0;
  if (staging_bytes == 0) return COLL_OK;
  const Place place = next(staging_bytes);
  if (place.half != half_ && !known_done(last_use_[place.half])) {
    coll_status status = everybody_done(last_use_[place.half]);
    if (status != COLL_OK) return status;
  }
  half_ = place.half;
  *offset = half_ * half_bytes + place.position;
  position_ = place.position + staging_bytes;
  last_use_[half_] = operation;
  return COLL_OK;
}

void Channel::touch_more() {
  const size_t end = std::min(position_ + touch_bytes, half_bytes);
  transport::touch_pages(own().staging + half_ * half_bytes + touched_[half_], end - touched_[half_]);
  touched_[half_] = end;
}

char* Channel::take_payload(size_t bytes) {
  char* taken = next_payload(bytes);
  const size_t lines = (bytes + sync::line_bytes - 1) / sync::line_bytes;
  payload_at_ = std::min(size_t(taken - payloads) + lines * sync::line_bytes + payloads_apart_bytes, payloads_bytes);
  if (payload_at_ > payloads_touched_) [[unlikely]] {
    const size_t end = std::min(payload_at_ + touch_bytes, payloads_bytes);
    transport::touch_pages(payloads + payloads_touched_, end - payloads_touched_);
    payloads_touched_ = end;
  }
  return taken;
}

coll_status Channel::begin_cell() {
  operation++;
  if (operation <= cells) return COLL_OK;
  return everybody_done(operation - cells);
}

}  // namespace coll::exec
