// SPDX-License-Identifier: BSD-3-Clause
#include "mem/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mem/implementation.h"
#include "mem/simd.h"
#include "mem/types.h"
#include "random_values.h"

namespace coll::mem {
namespace {

using namespace coll::test;

#if defined(__SANITIZE_ADDRESS__)
constexpr int trials_per_count = 1;
#else
constexpr int trials_per_count = 4;
#endif

// Elements at any address, aligned or not, with a margin on both sides that the kernel must not change.
template <typename T>
class Buffer {
 public:
  Buffer(size_t count, size_t shift_bytes) : count_(count), memory_(margin + count * sizeof(T) + margin) {
    std::fill(memory_.begin(), memory_.end(), filler);
    const size_t past = reinterpret_cast<uintptr_t>(memory_.data()) % 64;
    start_ = 128 - past + shift_bytes;
  }
  void* data() { return memory_.data() + start_; }
  std::vector<T> elements() const {
    std::vector<T> copy(count_);
    if (count_ > 0) std::memcpy(copy.data(), memory_.data() + start_, count_ * sizeof(T));
    return copy;
  }
  void randomize(Random& random) {
    for (size_t i = 0; i < count_; ++i) {
      const T element = random_element<T>(random);
      std::memcpy(memory_.data() + start_ + i * sizeof(T), &element, sizeof element);
    }
  }
  bool margin_untouched() const {
    const auto is_filler = [](uint8_t byte) { return byte == filler; };
    return std::all_of(memory_.begin(), memory_.begin() + start_, is_filler) &&
           std::all_of(memory_.begin() + start_ + count_ * sizeof(T), memory_.end(), is_filler);
  }

 private:
  static constexpr size_t margin = 256;
  static constexpr uint8_t filler = 0xa5;
  size_t count_;
  size_t start_;
  std::vector<uint8_t> memory_;
};

struct Case {
  coll_op op;
  coll_datatype type;
  int sources;
  size_t count;
  std::optional<int> in_place;   // dst is this source
  bool second = false;           // dst2 is given
  std::optional<int> in_place2;  // dst2 is this source

  std::string text() const {
    std::string s = std::string(op_name(op)) + " " + datatype_name(type) + " sources " + std::to_string(sources) +
                    " count " + std::to_string(count);
    if (in_place) s += " in place of " + std::to_string(*in_place);
    if (second) s += " with a second destination";
    if (in_place2) s += " in place of " + std::to_string(*in_place2);
    return s;
  }
};

// Runs one case on random data at random addresses. Reports the first wrong element.
template <typename T>
void check_case(const Case& c, Random& random) {
  const ReduceKernel kernel = reduce_kernel(c.op, c.type);
  ASSERT_NE(kernel, nullptr) << c.text();
  auto anywhere = [&] { return std::make_unique<Buffer<T>>(c.count, below(random, 64)); };
  std::vector<std::unique_ptr<Buffer<T>>> source;
  std::vector<std::vector<T>> before;
  const T* typed[max_sources];
  const void* src[max_sources];
  for (int s = 0; s < c.sources; ++s) {
    source.push_back(anywhere());
    source[s]->randomize(random);
    src[s] = source[s]->data();
    before.push_back(source[s]->elements());
  }
  for (int s = 0; s < c.sources; ++s) typed[s] = before[s].data();
  const auto own_dst = anywhere(), own_dst2 = anywhere();
  Buffer<T>& dst = c.in_place ? *source[*c.in_place] : *own_dst;
  Buffer<T>& dst2 = c.in_place2 ? *source[*c.in_place2] : *own_dst2;
  std::vector<T> expected;
  for (size_t i = 0; i < c.count; ++i) expected.push_back(fold<T>(c.op, typed, c.sources, i));

  kernel(dst.data(), c.second ? dst2.data() : nullptr, src, c.sources, c.count);

  const auto expect = [&](const Buffer<T>& buffer, const std::vector<T>& right, const char* what) {
    const std::vector<T> got = buffer.elements();
    for (size_t i = 0; i < c.count; ++i)
      ASSERT_TRUE(same<T>(got[i], right[i])) << c.text() << ": element " << i << " of " << what;
  };
  expect(dst, expected, "dst");
  if (c.second) expect(dst2, expected, "dst2");
  for (int s = 0; s < c.sources; ++s) {
    ASSERT_TRUE(source[s]->margin_untouched()) << c.text() << ": wrote outside a source";
    if (source[s].get() != &dst && (!c.second || source[s].get() != &dst2))
      expect(*source[s], before[s], "a source, which was written");
  }
  ASSERT_TRUE(own_dst->margin_untouched() && own_dst2->margin_untouched()) << c.text() << ": wrote outside";
}

template <typename Use>
void for_all_defined(Use use) {
  for (coll_op op = 1; op < COLL_OP_END_; ++op)
    for (coll_datatype type = 1; type < COLL_DATATYPE_END_; ++type)
      if (op_defined(op, type)) use(op, type);
}

class ReduceOn : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    random.seed(seed());
    if (!simd_select(GetParam())) GTEST_SKIP() << "this processor cannot run " << GetParam();
  }
  void TearDown() override { simd_select(simd_targets().front()); }

  void check(const Case& c) {
    with_type(c.type, [&]<typename T>(T) { check_case<Stored<T>>(c, random); });
  }
  Random random;
};

TEST_P(ReduceOn, EqualsTheDefinitionForEveryCount) {
  for_all_defined([&](coll_op op, coll_datatype type) {
    for (size_t count = 0; count <= 67 && !HasFailure(); ++count)
      for (int trial = 0; trial < trials_per_count && !HasFailure(); ++trial)
        check({op, type, static_cast<int>(1 + below(random, max_sources)), count});
    for (size_t count : {127u, 256u, 1000u, 4099u})
      for (int sources : {1, 2, 5, 8})
        if (!HasFailure()) check({op, type, sources, count});
  });
}

TEST_P(ReduceOn, InPlaceOfAnySourceAndWithASecondDestination) {
  for_all_defined([&](coll_op op, coll_datatype type) {
    for (size_t count : {1u, 5u, 16u, 33u, 67u, 200u})
      for (int sources = 1; sources <= max_sources; ++sources) {
        if (HasFailure()) return;
        for (int s = 0; s < sources; ++s) check({op, type, sources, count, s, (s & 1) != 0});
        check({op, type, sources, count, std::nullopt, true});
        check({op, type, sources, count, std::nullopt, true, static_cast<int>(below(random, sources))});
        if (sources > 1) check({op, type, sources, count, sources - 1, true, 0});
      }
  });
}

TEST_P(ReduceOn, CutsDoNotShow) {
  constexpr size_t count = 700;
  for_all_defined([&](coll_op op, coll_datatype type) {
    with_type(type, [&]<typename Type>(Type) {
      using T = Stored<Type>;
      const ReduceKernel kernel = reduce_kernel(op, type);
      const int sources = static_cast<int>(2 + below(random, max_sources - 1));
      std::vector<std::vector<T>> source(sources, std::vector<T>(count));
      const void* src[max_sources];
      for (int s = 0; s < sources; ++s) {
        for (T& element : source[s]) element = random_element<T>(random);
        src[s] = source[s].data();
      }
      std::vector<T> whole(count), pieces(count);

      kernel(whole.data(), nullptr, src, sources, count);
      for (size_t at = 0; at < count;) {
        const size_t piece = std::min<size_t>(count - at, 1 + below(random, 150));
        const void* from[max_sources];
        for (int s = 0; s < sources; ++s) from[s] = source[s].data() + at;
        kernel(pieces.data() + at, nullptr, from, sources, piece);
        at += piece;
      }

      for (size_t i = 0; i < count; ++i)
        ASSERT_TRUE(same<T>(whole[i], pieces[i])) << op_name(op) << " " << datatype_name(type) << " element " << i;
    });
  });
}

// 17 to 24 sources, folded by five calls. Between the calls, 16-bit floats are floats, which are not rounded.
TEST_P(ReduceOn, PartialResultsGiveTheBitsOfOneFold) {
  for_all_defined([&](coll_op op, coll_datatype type) {
    with_type(type, [&]<typename Type>(Type) {
      using T = Stored<Type>;
      using Partial = decltype(widen(T()));
      const ReduceKernel kernel = reduce_kernel(op, type);
      ASSERT_EQ(sizeof(Partial), datatype_size(partial_type(type)));
      for (size_t count : {1u, 5u, 16u, 33u, 67u, 200u})
        for (int rest = 1; rest <= max_sources && !HasFailure(); ++rest) {
          const int sources = 16 + rest;
          std::vector<std::vector<T>> source(sources, std::vector<T>(count));
          std::vector<const T*> typed;
          std::vector<const void*> src;
          for (auto& s : source) {
            for (T& element : s) element = random_element<T>(random);
            typed.push_back(s.data());
            src.push_back(s.data());
          }
          std::vector<Partial> a(count), b(count), c(count), c2(count);
          const void* pair[] = {a.data(), b.data()};
          const void* last[] = {a.data(), c.data()};
          std::vector<T> result(count), result2(count);

          kernel.begin(a.data(), nullptr, &src[0], 8, count);
          kernel.begin(b.data(), nullptr, &src[8], 8, count);
          kernel.begin(c.data(), c2.data(), &src[16], rest, count);
          kernel.join(a.data(), nullptr, pair, 2, count);
          kernel.finish(result.data(), result2.data(), last, 2, count);

          for (size_t i = 0; i < count; ++i) {
            const T right = fold<T>(op, typed.data(), sources, i);
            ASSERT_TRUE(same(result[i], right) && same(result2[i], right))
                << op_name(op) << " " << datatype_name(type) << " sources " << sources << " element " << i;
            ASSERT_TRUE(same(c[i], fold_tree(op, typed.data(), 16, rest, i)) && same(c2[i], c[i]))
                << op_name(op) << " " << datatype_name(type) << " partial result of " << rest << " element " << i;
          }
        }
    });
  });
}

std::vector<std::string> compiled_targets() {
  std::vector<std::string> names;
  for (const Implementation& implementation : all_implementations()) names.emplace_back(implementation.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Target, ReduceOn, testing::ValuesIn(compiled_targets()),
                         [](const auto& info) { return info.param; });

// Compares the targets with each other where the definition is exact: min, max and so on, including the bits of NaNs.
TEST(Reduce, AllTargetsGiveTheSameBits) {
  constexpr size_t count = 3001;
  Random random(seed());
  for_all_defined([&](coll_op op, coll_datatype type) {
    with_type(type, [&]<typename Type>(Type) {
      using T = Stored<Type>;
      const bool nan_is_open = op == COLL_SUM || op == COLL_PROD;
      const bool has_padding = is_located<T> || std::is_same_v<T, long double>;
      std::vector<std::vector<T>> source(3, std::vector<T>(count));
      for (auto& s : source)
        for (T& element : s) element = random_element<T>(random);
      const void* src[] = {source[0].data(), source[1].data(), source[2].data()};
      std::vector<std::vector<T>> results;

      for (const char* target : simd_targets()) {
        ASSERT_TRUE(simd_select(target));
        reduce_kernel(op, type)(results.emplace_back(count).data(), nullptr, src, 3, count);
      }

      for (size_t target = 1; target < results.size(); ++target)
        for (size_t i = 0; i < count; ++i) {
          const T &a = results[0][i], &b = results[target][i];
          ASSERT_TRUE(nan_is_open || has_padding ? same<T>(a, b) : std::memcmp(&a, &b, sizeof(T)) == 0)
              << op_name(op) << " " << datatype_name(type) << " on " << simd_targets()[target] << " element " << i;
        }
    });
  });
  simd_select(simd_targets().front());
}

// A sum of eight that would lose every small operand if intermediate results were rounded.
TEST(Reduce, HalvesRoundOnce) {
  const Half large = 2048, small = 1;
  const Half* operands[] = {&large, &small, &small, &small, &small, &small, &small, &small};
  const void* src[max_sources];
  std::copy(std::begin(operands), std::end(operands), src);
  Half sum = 0;

  reduce_kernel(COLL_SUM, COLL_FLOAT16)(&sum, nullptr, src, 8, 1);

  EXPECT_EQ(static_cast<float>(sum), 2056.0f);  // 2055 is a tie between 2054 and 2056; adding one by one gives 2048
}

TEST(Reduce, UndefinedCombinationsHaveNoKernel) {
  int defined = 0;
  for (coll_op op = 0; op <= COLL_OP_END_; ++op)
    for (coll_datatype type = 0; type <= COLL_DATATYPE_END_; ++type) {
      EXPECT_EQ(reduce_kernel(op, type) != nullptr, op_defined(op, type)) << op << " " << type;
      defined += op_defined(op, type);
    }
  EXPECT_EQ(defined, 8 * 10 + 5 * 4 + 3 * 2 + 3 + 3 + 6 * 2);
  for (auto [op, type] : std::initializer_list<std::pair<coll_op, coll_datatype>>{{COLL_MIN, COLL_COMPLEX_FLOAT},
                                                                                  {COLL_BAND, COLL_FLOAT},
                                                                                  {COLL_LAND, COLL_DOUBLE},
                                                                                  {COLL_SUM, COLL_BYTE},
                                                                                  {COLL_SUM, COLL_BOOL},
                                                                                  {COLL_BOR, COLL_BOOL},
                                                                                  {COLL_MINLOC, COLL_FLOAT},
                                                                                  {COLL_SUM, COLL_FLOAT_INT},
                                                                                  {COLL_SUM, COLL_TYPE_BYTES(8)},
                                                                                  {~0u, COLL_FLOAT}})
    EXPECT_EQ(reduce_kernel(op, type), nullptr) << op << " " << type;
}

}  // namespace
}  // namespace coll::mem
