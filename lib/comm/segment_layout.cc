// SPDX-License-Identifier: BSD-3-Clause
#include "comm/segment_layout.h"

#include "comm/drift.h"
#include "mem/huge_pages.h"
#include "mem/processor.h"
#include "transport/segment.h"
#include "transport/shared_file.h"

namespace coll::comm {

namespace {

constexpr size_t huge_page = mem::huge_page_bytes;
// Where large memory of malloc() begins: what is copied in and out then lies alike on both sides, as string instructions
// like it. Others' vectors were measured with staging at the beginning of a page.
size_t behind_page() { return mem::processor().strings_overwrite() ? 16 : 0; }
static_assert(2 * half_bytes % huge_page == 0 && exec::payloads_bytes % huge_page == 0);

using transport::round_up;

}  // namespace

SegmentLayout::SegmentLayout(int ranks) : ranks_(size_t(ranks)) {
  const size_t page = transport::page_bytes();
  stamps_in_state_ = round_up(sizeof(exec::RankState), alignof(Stamp));
  state_bytes_ = round_up(stamps_in_state_ + comm::stamps * sizeof(Stamp), page);
  channel_bytes_ = round_up(sizeof(exec::ChannelMemory), page);
  states_ = transport::Segment::header_bytes();
  progress_ = states_ + ranks_ * state_bytes_;
  channels_ = round_up(progress_ + channel_count * ranks_ * sizeof(exec::Progress), page);
  staging_ = round_up(channels_ + channel_count * ranks_ * channel_bytes_, huge_page) + behind_page();
  staging_bytes_ = round_up(refused_piece(0) + exec::refused_piece_bytes - staging_, huge_page);
  texts_ = round_up(payloads(ranks), page);
}

}  // namespace coll::comm
