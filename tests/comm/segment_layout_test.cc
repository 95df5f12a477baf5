// SPDX-License-Identifier: BSD-3-Clause
// The places of all parts of a segment, for any number of ranks.
#include "comm/segment_layout.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "topo/hierarchy.h"
#include "transport/shared_file.h"

using namespace coll;
using comm::SegmentLayout;

namespace {

struct Part {
  size_t begin, bytes;
  std::string what;
  int writer = -1;  // the rank
};

class Layout : public testing::TestWithParam<int> {
 protected:
  const int ranks = GetParam();
  const SegmentLayout layout{ranks};

  exec::Channel channel(int index) const {
    exec::Channel made;
    layout.place(made, index, nullptr);
    return made;
  }
  // All parts of one channel that its ranks write to.
  void add(std::vector<Part>& parts, int index) const {
    const exec::Channel made = channel(index);
    const auto place = [](const char* address) { return size_t(reinterpret_cast<uintptr_t>(address)); };
    for (int rank = 0; rank < ranks; rank++) {
      const std::string who = " of rank " + std::to_string(rank) + " on channel " + std::to_string(index);
      parts.push_back({place(made.progress_parts.of(rank)), sizeof(exec::Progress), "progress" + who, rank});
      for (int flag = 0; flag < exec::max_flags; flag++)
        parts.push_back({place(made.flag_parts.of(rank)) + size_t(flag) * made.flag_stride, sizeof(sync::FlagLine),
                         "flag " + std::to_string(flag) + who, rank});
      if (index == 0)
        parts.push_back(
            {place(made.mailbox_parts.of(rank)), exec::mailboxes * sizeof(exec::Mailbox), "cells" + who, rank});
      for (int note = 0; note < exec::kinds_of_notes * exec::notes && made.note_stride != 0; note++)
        parts.push_back({place(made.note_parts.of(rank)) + size_t(note) * made.note_stride, sizeof(exec::Note),
                         "note " + std::to_string(note) + who, rank});
      for (const exec::StagingRing& ring : made.rings) {
        const size_t step = ring.slot_bytes == 0 ? ring.half_bytes : ring.slot_bytes;
        for (size_t half = 0; half < 2; half++)
          for (size_t at = 0; at < ring.half_bytes; at += step)
            parts.push_back({place(ring.parts.of(rank)) + ring.offset(half, at), step,
                             "staging of " + std::to_string(step) + " bytes" + who, rank});
      }
    }
  }
};

// The offset of the staging depends on COLL_CPU. Ranks with different values compare their settings in the records.
TEST_P(Layout, RecordsPrecedeTheStaging) {
  EXPECT_EQ(layout.record(0) % transport::page_bytes(), 0u);
  EXPECT_LE(layout.record(ranks), layout.payloads(0));
}

TEST_P(Layout, NoTwoPartsOverlap) {
  std::vector<Part> parts;
  for (int index = 0; index < comm::channel_count; index++) add(parts, index);
  for (int rank = 0; rank < ranks; rank++) {
    const std::string who = " of rank " + std::to_string(rank);
    parts.push_back({layout.state(rank), sizeof(exec::RankState), "state" + who});
    parts.push_back({layout.payloads(rank), layout.payloads_bytes(), "payloads" + who});
    parts.push_back({layout.refused_piece(rank), exec::refused_piece_bytes, "refused piece" + who});
  }
  parts.push_back({layout.record(0), size_t(ranks) * sizeof(comm::RankRecord), "records"});
  for (int index = 0; index < comm::channel_count; index++)
    parts.push_back({layout.times(index), tune::lines_in_turn * size_t(ranks) * sizeof(tune::TimesLine),
                     "times of channel " + std::to_string(index)});
  std::ranges::sort(parts, {}, &Part::begin);
  EXPECT_GT(parts.front().begin, 0u);
  for (size_t i = 1; i < parts.size(); i++)
    ASSERT_LE(parts[i - 1].begin + parts[i - 1].bytes, parts[i].begin) << parts[i - 1].what << ", " << parts[i].what;
  EXPECT_LE(parts.back().begin + parts.back().bytes, layout.texts());
}

// On processors with lines of 128 bytes, no rank's stores take a line away from another rank, either. The times that
// ranks compare while they tune are written rarely, and not in this list.
TEST_P(Layout, RanksShareNoLineOf128Bytes) {
  constexpr size_t line = 128;
  std::vector<Part> parts;
  for (int index = 0; index < comm::channel_count; index++) add(parts, index);
  for (int rank = 0; rank < ranks; rank++)
    parts.push_back({layout.state(rank), sizeof(exec::RankState), "state of rank " + std::to_string(rank), rank});
  std::ranges::sort(parts, {}, &Part::begin);
  for (size_t i = 1; i < parts.size(); i++) {
    if (parts[i - 1].writer == parts[i].writer) continue;
    ASSERT_NE((parts[i - 1].begin + parts[i - 1].bytes - 1) / line, parts[i].begin / line)
        << parts[i - 1].what << ", " << parts[i].what;
  }
}

// Longer operations use later rings, each ring serves some, and blocking calls have the staging that plans are made
// for.
TEST_P(Layout, RingsGrow) {
  for (int index = 0; index < comm::channel_count; index++) {
    exec::Channel made = channel(index);
    for (size_t i = 1; i < made.rings.size(); i++)
      EXPECT_LT(made.rings[i - 1].most_bytes(), made.rings[i].most_bytes()) << index << " " << i;
    for (const size_t bytes : {size_t(1), size_t(64), size_t(65), size_t(4096), size_t(100'000), made.room()}) {
      const exec::StagingRing& ring = made.ring_of(bytes);
      EXPECT_GE(ring.most_bytes(), bytes);
      if (ranks > topo::small_group && ring.slot_bytes > 128) { EXPECT_LT(ring.most_bytes(), 2 * bytes); }
    }
    EXPECT_EQ(made.rings.size() == 1, ranks <= topo::small_group);
  }
  EXPECT_EQ(channel(0).room(), comm::half_bytes);
}

TEST_P(Layout, LinesOfDifferentRanksAreNotPrefetchedTogether) {
  const exec::Channel made = channel(0);
  EXPECT_GE(made.flag_parts.stride, 128u);
  for (const exec::StagingRing& ring : made.rings) EXPECT_GE(ring.parts.stride, 128u);
}

// Memory that all ranks read soon covers few pages, for any number of ranks.
TEST_P(Layout, MemoryThatIsReadFirstIsDense) {
  size_t bytes = 0;
  for (const SegmentLayout::Range& range : layout.read_first()) bytes += range.bytes;
  EXPECT_EQ(bytes == 0, ranks <= topo::small_group);
  EXPECT_LE(bytes, size_t(ranks) * 1536 + transport::page_bytes() * 2 + comm::channel_count * size_t(ranks) * 128);
}

TEST_P(Layout, AddressSpaceOfManyRanksIsBounded) {
  EXPECT_LE(layout.texts(), std::max(size_t(ranks) << 20 << 6, size_t(16) << 20)) << "more than 64 MiB per rank";
  if (ranks == 128) { EXPECT_LE(layout.texts(), size_t(2) << 30); }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Layout, testing::Values(1, 2, 3, 5, 16, 17, 64, 100, 128, 256),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
