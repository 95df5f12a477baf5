// SPDX-License-Identifier: BSD-3-Clause
#include "exec/channel.h"

#include <algorithm>

#include "transport/shared_file.h"

namespace coll::exec {

bool Channel::is_all_done(uint64_t number) {
  if (known_done(number)) return true;
  uint64_t least = operation;
  for (int rank = 0; rank < team->ranks; rank++)
    if (rank != team->rank) least = std::min(least, sync::seen(progress(rank).done));
  all_done_ = std::max(all_done_, least);
  return all_done_ >= number;
}

coll_status Channel::all_done(uint64_t number) {
  if (is_all_done(number)) return COLL_OK;
  for (int rank = 0; rank < team->ranks; rank++) {
    if (rank == team->rank) continue;
    coll_status status = team->wait(progress(rank).done, number, rank);
    if (status != COLL_OK) return status;
  }
  all_done_ = std::max(all_done_, number);
  return COLL_OK;
}

bool Channel::fits_here(const StagingRing& ring, size_t staging_bytes) const {
  const size_t bytes = ring.used_by(staging_bytes);
  if (ring.position == 0) return bytes <= ring.half_bytes;
  const bool alone = !starts_over && 2 * bytes >= ring.staging_window_bytes;
  return !alone && ring.position + bytes <= std::min(ring.half_bytes, ring.staging_window_bytes);
}

// Every rank computes the same place: it depends only on values that are the same on all ranks.
Channel::StagingPosition Channel::next(const StagingRing& ring, size_t staging_bytes) const {
  const size_t other = 1 - ring.half;
  if (!fits_here(ring, staging_bytes) || (starts_over && ring.last_use[other] <= synchronized_)) return {other, 0};
  return {ring.half, ring.position};
}

bool Channel::may_begin(size_t staging_bytes) {
  if (staging_bytes == 0) return true;
  const StagingRing& ring = ring_of(staging_bytes);
  const size_t half = next(ring, staging_bytes).half;
  return half == ring.half || is_all_done(ring.last_use[half]);
}

bool Channel::look_after_peers(size_t staging_bytes, AwaitedPost& awaited) {
  const StagingRing& ring = ring_of(staging_bytes);
  const uint64_t number = ring.last_use[1 - ring.half];
  for (int rank = 0; rank < team->ranks; rank++) {
    if (rank == team->rank) continue;
    const std::atomic<uint64_t>& done = progress(rank).done;
    if (sync::is_posted(done, number)) continue;
    if (team->will_never_post(done, number, rank)) return team->fail(), false;
    if (awaited.sequence == nullptr) awaited = {&done, number, rank};
  }
  return true;
}

coll_status Channel::begin(size_t staging_bytes, size_t* offset) {
  operation++;
  *offset = 0;
  if (staging_bytes == 0) return COLL_OK;
  StagingRing& ring = ring_of(staging_bytes);
  const StagingPosition place = next(ring, staging_bytes);
  if (place.half != ring.half && !known_done(ring.last_use[place.half])) {
    coll_status status = all_done(ring.last_use[place.half]);
    if (status != COLL_OK) return status;
  }
  ring.half = place.half;
  *offset = ring.offset(place.half, place.position);
  ring.position = place.position + ring.used_by(staging_bytes);
  ring.last_use[ring.half] = operation;
  return COLL_OK;
}

void Channel::touch_more(StagingRing& ring) {
  char* const part = ring.parts.of(team->rank);
  size_t& touched = ring.touched[ring.half];
  if (ring.slot_bytes == 0) {
    const size_t end = std::min(ring.position + touch_bytes, ring.half_bytes);
    transport::touch_pages(part + ring.offset(ring.half, touched), end - touched);
    touched = end;
    return;
  }
  // A single page fault is not worth a system call.
  for (; touched < ring.position; touched += ring.slot_bytes)
    if (ring.slot_bytes > transport::page_bytes())
      transport::touch_pages(part + ring.offset(ring.half, touched), ring.slot_bytes);
}

char* Channel::allocate_payload(size_t bytes) {
  char* payload = next_payload(bytes);
  const size_t lines = (bytes + sync::line_bytes - 1) / sync::line_bytes;
  payload_at_ = std::min(size_t(payload - payloads) + lines * sync::line_bytes + payload_gap_bytes, payloads_bytes);
  if (payload_at_ > payloads_touched_) [[unlikely]] {
    const size_t end = std::min(payload_at_ + touch_bytes, payloads_bytes);
    transport::touch_pages(payloads + payloads_touched_, end - payloads_touched_);
    payloads_touched_ = end;
  }
  return payload;
}

coll_status Channel::begin_cell() {
  operation++;
  if (operation <= mailboxes) return COLL_OK;
  return all_done(operation - mailboxes);
}

}  // namespace coll::exec
