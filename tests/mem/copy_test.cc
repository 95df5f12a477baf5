// SPDX-License-Identifier: BSD-3-Clause
#include "mem/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "mem/fetch.h"
#include "mem/implementation.h"
#include "mem/processor.h"
#include "mem/simd.h"
#include "random_values.h"

namespace coll::mem {
namespace {

using namespace coll::test;

constexpr size_t margin = 192;
constexpr uint8_t filler = 0x5a;

std::vector<uint8_t> random_bytes(Random& random, size_t bytes) {
  std::vector<uint8_t> data(bytes);
  for (uint8_t& byte : data) byte = static_cast<uint8_t>(random());
  return data;
}

// A destination with margins that must not change.
struct Destination {
  explicit Destination(size_t largest) : memory(margin + largest + margin, filler) {}
  uint8_t* at(size_t shift) { return memory.data() + margin / 2 + shift; }
  void expect_only(const uint8_t* content, size_t shift, size_t bytes) {
    ASSERT_TRUE(std::equal(content, content + bytes, at(shift))) << "wrong content";
    std::fill_n(at(shift), bytes, filler);
    const auto clean = [](uint8_t byte) { return byte == filler; };
    const auto end = std::min(memory.end(), memory.begin() + static_cast<long>(margin + shift + bytes + margin));
    ASSERT_TRUE(std::all_of(memory.begin(), end, clean)) << "wrote outside";
  }
  std::vector<uint8_t> memory;
};

struct Shifts {
  size_t dst, src;
};

class CopyOn : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!simd_select(GetParam())) GTEST_SKIP() << "this processor cannot run " << GetParam();
  }
  void TearDown() override { simd_select(simd_targets().front()); }

  // Runs every copy function for `bytes` between these places.
  void check(Destination& dst, Destination& dst2, const std::vector<uint8_t>& src, size_t bytes, Shifts shift) {
    SCOPED_TRACE(std::to_string(bytes) + " bytes, shifts " + std::to_string(shift.dst) + " " +
                 std::to_string(shift.src));
    const uint8_t* from = src.data() + shift.src;
    copy(dst.at(shift.dst), from, bytes);
    dst.expect_only(from, shift.dst, bytes);
    copy_vectors(dst.at(shift.dst), from, bytes);
    dst.expect_only(from, shift.dst, bytes);
    copy_nt(dst.at(shift.dst), from, bytes);
    dst.expect_only(from, shift.dst, bytes);
    copy(dst.at(shift.dst), from, bytes, Stores::non_temporal);
    dst.expect_only(from, shift.dst, bytes);
    for (const bool streams : {false, true}) {
      copy_shared(dst.at(shift.dst), from, bytes, streams);
      dst.expect_only(from, shift.dst, bytes);
    }
    copy2(dst.at(shift.dst), dst2.at(shift.src), from, bytes);
    dst.expect_only(from, shift.dst, bytes);
    dst2.expect_only(from, shift.src, bytes);
  }
};

TEST_P(CopyOn, EverySizeUpToSomeHundred) {
  Random random(seed());
  const auto src = random_bytes(random, 1024);
  Destination dst(1024), dst2(1024);
  for (size_t bytes = 0; bytes <= 700 && !HasFailure(); ++bytes)
    for (int trial = 0; trial < 4; ++trial) check(dst, dst2, src, bytes, {below(random, 65), below(random, 65)});
}

TEST_P(CopyOn, EveryAlignment) {
  Random random(seed());
  const auto src = random_bytes(random, 4096);
  Destination dst(4096), dst2(4096);
  for (size_t d = 0; d < 64; ++d)
    for (size_t s = 0; s < 64 && !HasFailure(); s += d == 0 ? 1 : 21) check(dst, dst2, src, 1500, {d, s});
}

TEST_P(CopyOn, AroundTheSwitchPointsAndLarge) {
  Random random(seed());
  constexpr size_t largest = 3 << 20;
  const auto src = random_bytes(random, largest + 64);
  Destination dst(largest), dst2(largest);
  for (size_t middle : {size_t(512), size_t(4096), size_t(65536), processor().rep_movsb_store_min_bytes,
                        processor().rep_movsb_load_min_bytes})
    for (size_t bytes = middle - 3; bytes <= middle + 3 && !HasFailure(); ++bytes)
      check(dst, dst2, src, bytes, {below(random, 64), below(random, 64)});
  check(dst, dst2, src, largest - 64, {3, 17});
}

std::vector<std::string> compiled_targets() {
  std::vector<std::string> names;
  for (const Implementation& implementation : all_implementations()) names.emplace_back(implementation.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Target, CopyOn, testing::ValuesIn(compiled_targets()),
                         [](const auto& info) { return info.param; });

// Every byte once, in order, for any length.
TEST(WriteInSteps, CoversTheRange) {
  for (size_t bytes : {0, 1, 63, 64, 1023, 1024, 1025, 5000}) {
    std::vector<char> memory(bytes, 0);
    size_t next = 0;
    write_in_steps(memory.data(), bytes, [&](size_t from, size_t length) {
      EXPECT_EQ(from, next);
      for (size_t i = 0; i < length; i++) memory.at(from + i)++;
      next += length;
    });
    EXPECT_EQ(next, bytes);
    EXPECT_EQ(std::count(memory.begin(), memory.end(), 1), long(bytes));
  }
}

}  // namespace
}  // namespace coll::mem
