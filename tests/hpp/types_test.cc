// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "../seed.h"
#include "coll/coll.hpp"
#include "mem/float16.h"

namespace {

struct Triple {
  int a, b, c;
};
enum class Colour : unsigned char { red, green };

static_assert(coll::datatype_of<signed char> == COLL_INT8 && coll::datatype_of<unsigned long> == COLL_UINT64);
static_assert(coll::datatype_of<long> == COLL_LONG && coll::datatype_of<unsigned> == COLL_UNSIGNED);
static_assert(coll::datatype_of<bool> == COLL_BOOL && coll::datatype_of<std::byte> == COLL_BYTE);
static_assert(coll::datatype_of<std::complex<double>> == COLL_COMPLEX_DOUBLE);
static_assert(coll::datatype_of<coll::Located<long>> == COLL_LONG_INT);
static_assert(coll::datatype_of<Triple> == COLL_TYPE_BYTES(12) && coll::datatype_of<Colour> == COLL_TYPE_BYTES(1));
static_assert(coll::Combinable<long double> && !coll::Combinable<Triple> && !coll::Combinable<Colour>);
static_assert(!coll::Element<std::string> && !coll::Element<int*> && !coll::Element<const int>);
static_assert(coll::MutableVector<std::vector<int>&> && !coll::MutableVector<const std::vector<int>&>);
static_assert(coll::Vector<std::span<const float>> && !coll::Vector<std::vector<bool>&> && !coll::Vector<int&>);
static_assert(coll::OperationOn<coll::BuiltinOp, float> && !coll::OperationOn<coll::BuiltinOp, Triple>);
static_assert(coll::OperationOn<coll::Op<Triple>, Triple> && !coll::OperationOn<coll::Op<Triple>, float>);
static_assert(!std::is_copy_constructible_v<coll::Communicator> && !std::is_copy_constructible_v<coll::Request>);
static_assert(std::is_nothrow_move_constructible_v<coll::Communicator> &&
              std::is_nothrow_destructible_v<coll::Request>);

template <class T>
void expect_size_and_name(const char* name) {
  EXPECT_EQ(coll_datatype_size(coll::datatype_of<T>), sizeof(T)) << name;
  EXPECT_STREQ(coll_datatype_name(coll::datatype_of<T>), name);
}

TEST(Datatype, LibraryAgreesOnSizeAndName) {
  expect_size_and_name<char>(std::is_signed_v<char> ? "int8" : "uint8");
  expect_size_and_name<long long>("int64");
  expect_size_and_name<std::uint16_t>("uint16");
  expect_size_and_name<coll::float16>("float16");
  expect_size_and_name<coll::bfloat16>("bfloat16");
  expect_size_and_name<long double>(coll_datatype_name(COLL_LONG_DOUBLE));
  expect_size_and_name<std::complex<long double>>(coll_datatype_name(COLL_COMPLEX_LONG_DOUBLE));
  expect_size_and_name<coll::Located<short>>(coll_datatype_name(COLL_SHORT_INT));
  expect_size_and_name<coll::Located<int>>(coll_datatype_name(COLL_INT_INT));
  expect_size_and_name<coll::Located<float>>(coll_datatype_name(COLL_FLOAT_INT));
  expect_size_and_name<coll::Located<double>>(coll_datatype_name(COLL_DOUBLE_INT));
  expect_size_and_name<coll::Located<long double>>(coll_datatype_name(COLL_LONG_DOUBLE_INT));
  expect_size_and_name<Triple>("bytes");
}

TEST(Float16, EveryValueAsTheLibraryHasIt) {
  for (std::uint32_t bits = 0; bits <= 0xffff; bits++) {
    const auto narrow = static_cast<std::uint16_t>(bits);
    const auto half = static_cast<float>(coll::float16::from_bits(narrow));
    const auto brain = static_cast<float>(coll::bfloat16::from_bits(narrow));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(half),
              std::bit_cast<std::uint32_t>(coll::mem::to_float(coll::mem::Float16{narrow})));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(brain),
              std::bit_cast<std::uint32_t>(coll::mem::to_float(coll::mem::BFloat16{narrow})));
    if (!std::isnan(half)) { ASSERT_EQ(coll::float16(half).bits, narrow); }
    if (!std::isnan(brain)) { ASSERT_EQ(coll::bfloat16(brain).bits, narrow); }
  }
}

TEST(Float16, RoundsAsTheLibraryDoes) {
  auto expect_same = [](std::uint32_t bits) {
    const auto value = std::bit_cast<float>(bits);
    ASSERT_EQ(coll::float16(value).bits, coll::mem::to_float16(value).bits) << std::hex << bits;
    ASSERT_EQ(coll::bfloat16(value).bits, coll::mem::to_bfloat16(value).bits) << std::hex << bits;
  };
  // Tests values around every boundary of the exponent and of the dropped bits, then random ones.
  for (std::uint32_t exponent = 0; exponent < 512; exponent++)
    for (std::uint32_t edge : {0u, 0x400u, 0x1000u, 0x2000u, 0x3000u, 0x8000u, 0x18000u, 0x7fe000u, 0x7ff000u})
      for (std::uint32_t off : {0u, 1u, 0xffffffffu}) expect_same((exponent << 23 | edge) + off);
  std::mt19937_64 random(coll::test::seed());
  for (int i = 0; i < 300000; i++) expect_same(static_cast<std::uint32_t>(random()));
}

TEST(Memory, HoldsWhatIsWrittenAndMoves) {
  coll::Memory<Triple> memory(1000);
  memory[999] = {1, 2, 3};
  Triple* where = memory.data();
  coll::Memory<Triple> other = std::move(memory);
  EXPECT_EQ(other.data(), where);
  EXPECT_EQ(other[999].c, 3);
  EXPECT_EQ(std::span(other).size(), 1000u);
  EXPECT_EQ(memory.size(), 0u);  // NOLINT(bugprone-use-after-move): the test is about that
  other = coll::Memory<Triple>();
  EXPECT_EQ(other.data(), nullptr);
}

TEST(Memory, ServesContainersAndReportsTooMuch) {
  std::vector<double, coll::allocator<double>> vector(100, 1.5);
  vector.resize(100000, 2.5);
  EXPECT_EQ(vector.front(), 1.5);
  EXPECT_EQ(vector.back(), 2.5);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(vector.data()) % 64, 0u);
  EXPECT_THROW(static_cast<void>(coll::allocator<double>().allocate(std::numeric_limits<std::size_t>::max() / 4)),
               std::bad_array_new_length);
  try {
    coll::Memory<char> all(std::size_t{1} << 62);
    FAIL() << "2^62 bytes were allocated";
  } catch (const coll::Error& error) {
    EXPECT_EQ(error.status(), COLL_ERR_NO_MEMORY);
    EXPECT_NE(std::string(error.what()).find(coll_strerror(COLL_ERR_NO_MEMORY)), std::string::npos);
  }
}

TEST(Memory, OfNoElementsIsNull) {
  const coll::Memory<int> none(0), made;
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(none.size(), 0u);
  EXPECT_EQ(none.begin(), none.end());
  EXPECT_EQ(made.data(), nullptr);
}

TEST(Allocator, ThrowsErrorsOfTheLibrary) {
  try {
    static_cast<void>(coll::allocator<char>().allocate(std::size_t{1} << 62));
    FAIL() << "2^62 bytes were allocated";
  } catch (const coll::Error& error) { EXPECT_EQ(error.status(), COLL_ERR_NO_MEMORY); }
  EXPECT_TRUE(coll::allocator<int>() == coll::allocator<int>());
}

}  // namespace
