// SPDX-License-Identifier: BSD-3-Clause
#include "comm/segment_layout.h"

#include <algorithm>

#include "mem/huge_pages.h"
#include "mem/shared_stores.h"
#include "topo/hierarchy.h"
#include "transport/segment.h"
#include "transport/shared_file.h"

namespace coll::comm {

namespace {

using transport::round_up;

constexpr size_t huge_page = mem::huge_page_bytes;
constexpr size_t line_pair = 2 * sync::line_bytes;  // the lines that processors prefetch together
constexpr size_t flag_bytes = sizeof(sync::FlagLine), mailboxes_bytes = exec::mailboxes * sizeof(exec::Mailbox);
constexpr size_t most_payloads_bytes = half_bytes;
static_assert(2 * half_bytes % huge_page == 0 && most_payloads_bytes % huge_page == 0);

// For many ranks. of_request_half: address space of one half of a request channel, for all ranks together.
// flags_read_first: flag lines that plans of short data use. Requests have fewer slots than blocking calls, in which a
// root may be several calls ahead of the other ranks.
constexpr size_t of_request_half = size_t(32) << 20, least_request_half = size_t(256) << 10;
constexpr size_t flags_read_first = 4;
constexpr size_t shortest_slot = line_pair, longest_slot = size_t(512) << 10, longest_of_requests = size_t(64) << 10;
constexpr size_t slots_in_half(size_t slot, bool of_request) {
  return slot <= 1024 ? 16 : slot <= (of_request ? 16384 : 65536) ? 4 : 1;
}

// The offset of staging within its page. With RFO-free stores it is 16, the offset of large malloc() blocks: rep movsb
// is fastest if staging and user buffers have the same alignment. Other processors copy with vectors and were measured
// with page-aligned staging.
size_t behind_page() { return mem::has_rfo_free_stores() ? 16 : 0; }

}  // namespace

SegmentLayout::SegmentLayout(int ranks) : ranks_(size_t(ranks)) {
  const size_t page = transport::page_bytes();
  const bool many = ranks > topo::small_group;

  state_bytes_ = round_up(sizeof(exec::RankState), many ? line_pair : page);
  states_ = transport::Segment::header_bytes();
  progress_ = states_ + ranks_ * state_bytes_;
  flags_ = round_up(progress_ + channel_count * ranks_ * sizeof(exec::Progress), page);
  if (many) {
    flags_stride_ = line_pair;
    flag_stride_ = ranks_ * line_pair;
    flags_of_channel_ = round_up(exec::max_flags * flag_stride_, page);
    mailboxes_stride_ = round_up(mailboxes_bytes, page);
    mailboxes_ = flags_ + channel_count * flags_of_channel_;
  } else {
    // A rank's mailboxes follow its flag lines of the first channel.
    constexpr size_t flags_bytes = exec::max_flags * flag_bytes;
    flag_stride_ = flag_bytes;
    flags_stride_ = round_up(flags_bytes + mailboxes_bytes, page);
    flags_of_channel_ = ranks_ * flags_stride_;
    mailboxes_stride_ = flags_stride_;
    mailboxes_ = flags_ + flags_bytes;
  }
  notes_ = mailboxes_ + ranks_ * mailboxes_stride_;
  times_ = many ? notes_ + exec::kinds_of_notes * exec::notes * ranks_ * sizeof(exec::Note)
                : flags_ + channel_count * flags_of_channel_;
  size_t end = round_up(times_ + channel_count * times_bytes(), page);
  for (int channel = 0; many && channel < channel_count; channel++)
    for (size_t slot = shortest_slot; slot <= (channel == 0 ? longest_slot : longest_of_requests); slot *= 2) {
      const size_t in_half = slots_in_half(slot, channel != 0);
      slots_[size_t(channel)].push_back({slot, in_half, end});
      end = round_up(end + 2 * in_half * slot * ranks_, page);
    }

  payloads_bytes_ = std::clamp(round_up(2 * 2 * half_bytes / ranks_, many ? page : huge_page),
                               exec::least_payloads_bytes, most_payloads_bytes);
  request_half_bytes_ =
      many ? std::clamp(of_request_half / ranks_ / page * page, least_request_half, half_bytes) : half_bytes;
  refused_piece_ = payloads_bytes_ + 2 * half_bytes + request_channels * 2 * request_half_bytes_;
  staging_bytes_ = round_up(refused_piece_ + exec::refused_piece_bytes, many ? page : huge_page);
  // Before the staging, whose offset depends on COLL_CPU: ranks with different values must find each other's records to
  // report the difference.
  records_ = round_up(end, page);
  staging_ = round_up(records_ + ranks_ * sizeof(RankRecord), huge_page) + behind_page();
  texts_ = round_up(payloads(ranks), page);

  if (!many) return;
  // One range: states, Progress, and the flag lines that follow.
  read_first_.push_back({states_, flags_ + flags_read_first * flag_stride_ - states_});
  read_first_.push_back({slots_[0].front().begin, 2 * ranks_ * slots_[0].front().bytes});
}

void SegmentLayout::place(exec::Channel& channel, int index, char* base) const {
  const size_t i = size_t(index);
  channel.progress_parts = {base + progress_ + i * ranks_ * sizeof(exec::Progress), sizeof(exec::Progress)};
  channel.flag_parts = {base + flags_ + i * flags_of_channel_, flags_stride_};
  channel.flag_stride = flag_stride_;
  if (index == 0) channel.mailbox_parts = {base + mailboxes_, mailboxes_stride_};
  if (index == 0 && !slots_[0].empty()) {
    channel.note_parts = {base + notes_, sizeof(exec::Note)};
    channel.note_stride = ranks_ * sizeof(exec::Note);
  }
  channel.rings.clear();
  for (const Slots& slots : slots_[i]) {
    const size_t half = slots.in_half * slots.bytes;
    channel.rings.push_back({.parts = {base + slots.begin, slots.bytes},
                             .half_bytes = half,
                             .half_stride = ranks_ * slots.bytes,
                             .slot_bytes = slots.bytes,
                             .slot_stride = 2 * ranks_ * slots.bytes,
                             .staging_window_bytes = half});
  }
  const size_t long_half = index == 0 ? half_bytes : request_half_bytes_;
  const size_t before = index == 0 ? 0 : 2 * half_bytes + (i - 1) * 2 * request_half_bytes_;
  channel.rings.push_back({.parts = {base + payloads(0) + payloads_bytes_ + before, staging_bytes_},
                           .half_bytes = long_half,
                           .half_stride = long_half});
}

}  // namespace coll::comm
