// SPDX-License-Identifier: BSD-3-Clause
// Ranges partition the vector: exactly, in whole cache lines if elements allow, with equally many iterations for every
// part.
#include "plan/geometry.h"

#include <gtest/gtest.h>

namespace coll::plan {
namespace {

const size_t element_sizes[] = {1, 2, 4, 8, 16, 24, 32, 64, 100};
const size_t counts[] = {0, 1, 2, 7, 8, 9, 63, 64, 65, 1000, 1023, 1024, 1025, 4097};

// How often each element is covered by all parts, passes and blocks of a partition.
std::vector<int> cover(size_t count, size_t element_bytes, uint16_t parts, uint16_t subs, uint32_t chunk_bytes) {
  std::vector<int> covered(count);
  size_t trips = 0;
  for (uint16_t part = 0; part < parts; ++part)
    for (uint16_t sub = 0; sub < subs; ++sub) {
      Range range{.part = part, .parts = parts, .sub = sub, .subs = subs, .chunk_bytes = chunk_bytes};
      Geometry g = Geometry::bind(range, count, element_bytes);
      if (trips == 0) trips = g.trips;
      EXPECT_EQ(g.trips, trips) << "every part takes the same passes";
      for (size_t index = 0; index < g.trips; ++index) {
        Extent e = g.at(index);
        EXPECT_LE(e.low + e.length, count);
        EXPECT_LE(e.chunk_low, e.low);
        for (size_t i = e.low; i < e.low + e.length; ++i) covered[i]++;
      }
    }
  return covered;
}

TEST(Geometry, PartsChunksAndBlocksCoverTheVectorExactlyOnce) {
  for (size_t element_bytes : element_sizes)
    for (size_t count : counts)
      for (uint16_t parts : {1, 2, 3, 7, 64})
        for (uint16_t subs : {1, 2, 5})
          for (uint32_t chunk_bytes : {0u, 64u, 192u, 1000u, 4096u})
            EXPECT_EQ(cover(count, element_bytes, parts, subs, chunk_bytes), std::vector<int>(count, 1))
                << count << " elements of " << element_bytes << ", " << parts << " parts, " << subs
                << " blocks, chunks of " << chunk_bytes;
}

TEST(Geometry, ASpanIsItsBlocksTogether) {
  for (size_t count : counts)
    for (uint16_t first = 0; first < 6; ++first)
      for (uint16_t span = 1; first + span <= 6; ++span) {
        Range range{.sub = first, .subs = 6, .span = span, .chunk_bytes = 1024};
        Geometry whole = Geometry::bind(range, count, 8);
        for (size_t index = 0; index < whole.trips; ++index) {
          Extent e = whole.at(index);
          size_t low = e.low;
          for (uint16_t block = first; block < first + span; ++block) {
            Extent b = Geometry::bind({.sub = block, .subs = 6, .chunk_bytes = 1024}, count, 8).at(index);
            EXPECT_EQ(b.low, low);
            low += b.length;
          }
          EXPECT_EQ(low, e.low + e.length);
        }
      }
}

TEST(Geometry, BlocksBeginOnCacheLinesWhenElementsDivideOne) {
  for (size_t element_bytes : {1, 2, 4, 8, 16, 32, 64})
    for (uint16_t sub = 0; sub < 7; ++sub) {
      Range range{.part = 2, .parts = 5, .sub = sub, .subs = 7, .chunk_bytes = 4096};
      Geometry g = Geometry::bind(range, 100000 / element_bytes, element_bytes);
      for (size_t index = 0; index + 1 < g.trips; ++index) EXPECT_EQ(g.at(index).low * element_bytes % 64, 0u);
    }
  EXPECT_EQ(Geometry::unit_of(8), 8u);
  EXPECT_EQ(Geometry::unit_of(24), 1u);
  EXPECT_EQ(Geometry::unit_of(100), 1u);
}

TEST(Geometry, IterationsRunFromTheEndOfTheVectorToItsBeginning) {
  Geometry g = Geometry::bind({.chunk_bytes = 512}, 100, 8);
  EXPECT_EQ(g.trips, 2u);
  EXPECT_EQ(g.at(0).low, 64u);
  EXPECT_EQ(g.at(0).length, 36u);
  EXPECT_EQ(g.at(1).low, 0u);
  EXPECT_EQ(g.at(1).length, 64u);
}

TEST(Geometry, AnElementLargerThanAChunkIsAChunk) {
  Geometry g = Geometry::bind({.chunk_bytes = 64}, 10, 100);
  EXPECT_EQ(g.trips, 10u);
  EXPECT_EQ(g.at(3).low, 6u);
  EXPECT_EQ(g.at(3).length, 1u);
}

TEST(Geometry, APartOfAChunkKnowsItsChunk) {
  Extent e = Geometry::bind({.sub = 1, .subs = 2, .chunk_bytes = 512}, 1000, 8).at(3);
  EXPECT_EQ(e.chunk_low, 768u) << "the fourth chunk from the end, of sixteen";
  EXPECT_EQ(e.low, 768u + 32u);
}

TEST(Geometry, LastValueBoundsThePostsOfALoop) {
  Plan plan;
  plan.largest_value = 10;
  EXPECT_EQ(last_value(plan, 1000000, 8), 10u) << "no loop";
  plan.smallest_chunk_bytes = 64;
  EXPECT_GE(last_value(plan, 100, 8), 10u + 13u);
}

}  // namespace
}  // namespace coll::plan
