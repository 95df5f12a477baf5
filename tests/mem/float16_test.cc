// SPDX-License-Identifier: BSD-3-Clause
#include "mem/float16.h"

#include <gtest/gtest.h>

#include "random_values.h"

namespace coll::mem {
namespace {

using namespace coll::test;

uint16_t bits_of(Half value) { return std::bit_cast<uint16_t>(value); }

void expect_rounded(float value) {
  if (std::isnan(value)) {
    EXPECT_TRUE(std::isnan(to_float(to_float16(value))));
    EXPECT_TRUE(std::isnan(to_float(to_bfloat16(value))));
    return;
  }
  EXPECT_EQ(to_float16(value).bits, bits_of(static_cast<Half>(value))) << value;
  EXPECT_EQ(to_bfloat16(value).bits, round_to_brain(value).bits) << value;
}

// Tests every value of a 16-bit format, the middle to the next one, and the floats next to these.
template <typename Format>
void expect_rounded_around_every_value() {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = to_float(Format{static_cast<uint16_t>(bits)});
    expect_rounded(value);
    const float next = to_float(Format{static_cast<uint16_t>(bits + 1)});
    if (!std::isfinite(value) || !std::isfinite(next)) continue;
    const float middle = static_cast<float>((static_cast<double>(value) + static_cast<double>(next)) / 2);
    expect_rounded(middle);
    expect_rounded(std::nextafterf(middle, value));
    expect_rounded(std::nextafterf(middle, next));
  }
}

TEST(Float16, ReadsEveryValueAsTheCompilerDoes) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float mine = to_float(Float16{static_cast<uint16_t>(bits)});
    const float theirs = static_cast<float>(std::bit_cast<Half>(static_cast<uint16_t>(bits)));
    EXPECT_TRUE(same_floating(mine, theirs)) << bits;
  }
}

TEST(Float16, RoundsToNearestEven) {
  expect_rounded_around_every_value<Float16>();
  expect_rounded_around_every_value<BFloat16>();
}

TEST(Float16, RoundsRandomFloats) {
  Random random(seed());
  for (int i = 0; i < 300000; ++i) expect_rounded(std::bit_cast<float>(static_cast<uint32_t>(random())));
}

TEST(Float16, OverflowsToInfinity) {
  EXPECT_EQ(to_float16(65519.99f).bits, 0x7bff);
  EXPECT_EQ(to_float16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_float16(-1e10f).bits, 0xfc00);
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
}

}  // namespace
}  // namespace coll::mem
