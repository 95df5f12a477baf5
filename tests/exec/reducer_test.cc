// SPDX-License-Identifier: BSD-3-Clause
// Compares a Reducer of any number of sources with the recursive definition of the tree.
#include "exec/reducer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "mem/implementation.h"
#include "mem/random_values.h"
#include "mem/simd.h"
#include "mem/types.h"

namespace coll::exec {
namespace {

using namespace coll::test;

constexpr int many_sources[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13,  14,
                                15, 16, 17, 18, 19, 20, 31, 32, 33, 63, 64, 65, 100, 256};
constexpr int apart = -1;  // the destination is not a source

struct Case {
  int sources;
  size_t count;
  int in_place = apart;
  bool second = false;
  int in_place2 = apart;

  std::string text() const {
    return "sources " + std::to_string(sources) + " count " + std::to_string(count) + " in place of " +
           std::to_string(in_place) + (second ? " and of " + std::to_string(in_place2) : "");
  }
};

// Folds random elements and compares all of them with right(sources, element). Sources that are not destinations must
// not change.
template <typename T, class Right, class Equal>
void check_case(const Reducer& reducer, const Case& c, Right right, Equal equal,
                const std::function<T()>& random_value) {
  std::vector<std::vector<T>> source(c.sources, std::vector<T>(c.count));
  for (auto& s : source) std::generate(s.begin(), s.end(), random_value);
  const auto before = source;
  std::vector<const T*> typed;
  std::vector<const void*> src;
  for (int s = 0; s < c.sources; ++s) typed.push_back(before[s].data()), src.push_back(source[s].data());
  std::vector<T> own(c.count), own2(c.count);
  auto& dst = c.in_place == apart ? own : source[c.in_place];
  auto& dst2 = c.in_place2 == apart ? own2 : source[c.in_place2];

  reducer(dst.data(), c.second ? dst2.data() : nullptr, src.data(), c.sources, c.count);

  for (size_t i = 0; i < c.count; ++i) {
    const T expected = right(typed.data(), i);
    ASSERT_TRUE(equal(dst[i], expected)) << c.text() << " element " << i;
    ASSERT_TRUE(!c.second || equal(dst2[i], expected)) << c.text() << " element " << i << " of the second";
  }
  for (int s = 0; s < c.sources; ++s)
    for (size_t i = 0; i < c.count && s != c.in_place && s != c.in_place2; ++i)
      ASSERT_TRUE(equal(source[s][i], before[s][i])) << c.text() << ": wrote to source " << s;
}

// Every number of sources, every position of the result, and vectors of several blocks that end inside a block.
template <class Check>
void for_all_cases(size_t element_bytes, Random& random, Check check) {
  for (int n : many_sources) {
    const auto any = [&] { return static_cast<int>(below(random, n)); };
    const auto few = [&] { return 1 + below(random, 40); };
    check(Case{n, few()});
    check(Case{n, few(), apart, true});
    check(Case{n, few(), any(), true});
    check(Case{n, few(), apart, true, any()});
    if (n > 1) check(Case{n, few(), n - 1, true, 0});
    for (int s = 0; s < n && n <= 20; ++s) check(Case{n, 1 + few() % 8, s});
  }
  for (int n : {2, 8, 9, 17, 33, 65}) {
    const size_t blocks = 2 * 4096 / element_bytes + 3;
    check(Case{n, blocks, n - 1});
    check(Case{n, blocks, 0, true, n / 2});
  }
}

class ReducerOn : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    random.seed(seed());
    if (!mem::simd_select(GetParam())) GTEST_SKIP() << "this processor cannot run " << GetParam();
  }
  void TearDown() override { mem::simd_select(mem::simd_targets().front()); }

  static Reducer built_in(coll_op op, coll_datatype type) {
    Reducer reducer;
    reducer.kernel = mem::reduce_kernel(op, type);
    reducer.type = type;
    reducer.element_bytes = mem::datatype_size(type);
    return reducer;
  }
  void check(coll_op op, coll_datatype type, const Case& c) {
    if (HasFailure()) return;
    SCOPED_TRACE(std::string(mem::op_name(op)) + " " + mem::datatype_name(type));
    with_type(type, [&]<typename Type>(Type) {
      using T = Stored<Type>;
      check_case<T>(
          built_in(op, type), c, [&](const T* const* src, size_t i) { return fold<T>(op, src, c.sources, i); }, same<T>,
          [&] { return random_element<T>(random); });
    });
  }
  Random random;
};

TEST_P(ReducerOn, FoldsTheTreeForAllOperationsAndTypes) {
  for (coll_op op = 1; op < COLL_OP_END_; ++op)
    for (coll_datatype type = 1; type < COLL_DATATYPE_END_; ++type)
      if (mem::op_defined(op, type))
        for_all_cases(mem::datatype_size(type), random, [&](const Case& c) { check(op, type, c); });
}

TEST_P(ReducerOn, FoldsTheTreeForTheMostSources) {
  for (coll_datatype type : {COLL_FLOAT, COLL_BFLOAT16, COLL_DOUBLE})
    for (int sources : {511, 513, 4096, 4099, 32767, 65535}) check(COLL_SUM, type, {sources, 3, sources / 2});
}

// Each of fifteen small operands is too small to change the large one, also in groups of eight.
TEST_P(ReducerOn, HalvesRoundOnce) {
  const Half large = 4096, small = Half(0.25f);
  std::vector<const void*> src(16, &small);
  src[0] = &large;
  Half sum = 0;

  built_in(COLL_SUM, COLL_FLOAT16)(&sum, nullptr, src.data(), 16, 1);

  EXPECT_EQ(static_cast<float>(sum), 4100.0f);  // the nearest value to 4099.75; groups of eight round to 4096
}

std::vector<std::string> compiled_targets() {
  std::vector<std::string> names;
  for (const mem::Implementation& implementation : mem::all_implementations()) names.emplace_back(implementation.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Target, ReducerOn, testing::ValuesIn(compiled_targets()),
                         [](const auto& info) { return info.param; });

// ---- user-defined functions --------------------------------------------------------------------------------------------

// Neither commutative nor associative: the result shows the tree and the order of its operands.
struct Word {
  uint64_t bits;
  friend bool operator==(Word a, Word b) = default;
  static Word random(Random& random) { return {random()}; }
  static Word apply(Word a, Word b) { return {a.bits * 6364136223846793005u + std::rotl(b.bits, 17) + 1}; }
};

// A product of 2x2 matrices is not commutative, and in floating point every grouping rounds differently.
struct Matrix {
  std::array<double, 4> m;
  friend bool operator==(const Matrix& a, const Matrix& b) = default;
  static Matrix random(Random& random) {
    Matrix made;
    for (double& x : made.m) x = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
    return made;
  }
  static Matrix apply(const Matrix& a, const Matrix& b) {
    return {{a.m[0] * b.m[0] + a.m[1] * b.m[2], a.m[0] * b.m[1] + a.m[1] * b.m[3], a.m[2] * b.m[0] + a.m[3] * b.m[2],
             a.m[2] * b.m[1] + a.m[3] * b.m[3]}};
  }
};

// Larger than a block.
struct Page {
  std::array<Word, 650> words;
  friend bool operator==(const Page& a, const Page& b) = default;
  static Page random(Random& random) {
    Page made;
    for (Word& word : made.words) word = Word::random(random);
    return made;
  }
  static Page apply(const Page& a, const Page& b) {
    Page made;
    for (size_t i = 0; i < made.words.size(); ++i) made.words[i] = Word::apply(a.words[i], b.words[i]);
    return made;
  }
};

template <typename T>
T definition(const T* const* src, int first, int n, size_t i) {
  if (n == 1) return src[first][i];
  int m = 1;
  while (2 * m < n) m *= 2;
  const T left = definition(src, first, m, i);
  return T::apply(left, definition(src, first + m, n - m, i));
}

template <typename T>
class ReducerOfUsersType : public testing::Test {
 protected:
  // Also checks the arguments of the function, and that operands do not overlap.
  static void function(const void* in, void* inout, size_t count, coll_datatype type, void* context) {
    EXPECT_EQ(type, COLL_TYPE_BYTES(sizeof(T)));
    const T* a = static_cast<const T*>(in);
    T* b = static_cast<T*>(inout);
    EXPECT_TRUE(a + count <= b || b + count <= a);
    for (size_t i = 0; i < count; ++i) b[i] = T::apply(a[i], b[i]);
    ++*static_cast<size_t*>(context);
  }
  void check(const Case& c) {
    if (HasFailure()) return;
    check_case<T>(
        reducer(), c, [&](const T* const* src, size_t i) { return definition(src, 0, c.sources, i); },
        std::equal_to<T>(), [&] { return T::random(random); });
  }
  Reducer reducer() {
    Reducer made;
    made.function = function;
    made.context = &calls;
    made.type = COLL_TYPE_BYTES(sizeof(T));
    made.element_bytes = sizeof(T);
    made.commutative = false;
    return made;
  }
  size_t calls = 0;
  Random random{seed()};
};

using UsersTypes = testing::Types<Word, Matrix, Page>;
TYPED_TEST_SUITE(ReducerOfUsersType, UsersTypes);

TYPED_TEST(ReducerOfUsersType, FoldsTheTreeInTheOrderOfTheSources) {
  for_all_cases(sizeof(TypeParam), this->random, [&](const Case& c) { this->check(c); });
  this->check({4099, 3, 7});
}

TYPED_TEST(ReducerOfUsersType, AppliesTheFunctionOncePerSourceButOne) {
  for (int sources : {1, 2, 5, 8, 9, 64, 100}) {
    this->calls = 0;
    this->check({sources, 1});
    EXPECT_EQ(this->calls, size_t(sources - 1));
  }
}

}  // namespace
}  // namespace coll::exec
