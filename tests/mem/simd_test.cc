// SPDX-License-Identifier: BSD-3-Clause
#include "mem/simd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "../environment.h"
#include "mem/implementation.h"

namespace coll::mem {
namespace {

// Exits with 0 if a process that starts with COLL_SIMD=value uses `expected`.
[[noreturn]] void exit_by_target(const char* expected, bool error_expected) {
  const bool right = std::strcmp(simd_target(), expected) == 0 && simd_environment_error().empty() != error_expected;
  std::_Exit(right ? 0 : 1);
}

// The default target: under a sanitizer, the kernels that it can check.
const char* default_target() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return "scalar";
#else
  return simd_targets().front();
#endif
}

class Simd : public testing::Test {
 protected:
  // "threadsafe" starts the program again, so that the selection at the first use is tested.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(Simd, ListsWhatRunsHereBestFirst) {
  const auto targets = simd_targets();
  ASSERT_FALSE(targets.empty());
  EXPECT_STREQ(targets.back(), "scalar");
  size_t supported = 0;
  for (const Implementation& implementation : all_implementations()) supported += implementation.supported();
  EXPECT_EQ(targets.size(), supported);
#if defined(__x86_64__)
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
#if defined(__SANITIZE_THREAD__)
  constexpr size_t with_avx2 = 2;  // SSE4 is left out, and Highway has no SSE2 for clang 14
#else
  constexpr size_t with_avx2 = 3;
#endif
  EXPECT_GE(targets.size(), has_avx2 ? with_avx2 : 1);
#endif
}

TEST_F(Simd, SelectsByName) {
  for (const char* name : simd_targets()) {
    EXPECT_TRUE(simd_select(name));
    EXPECT_STREQ(simd_target(), name);
  }
  EXPECT_FALSE(simd_select("mmx"));
  EXPECT_STREQ(simd_target(), "scalar") << "a name that is refused changes nothing";
  simd_select(simd_targets().front());
}

TEST_F(Simd, EnvironmentForcesATarget) {
  for (const char* name : simd_targets()) {
    const test::Environment forced("COLL_SIMD", name);
    EXPECT_EXIT(exit_by_target(std::getenv("COLL_SIMD"), false), testing::ExitedWithCode(0), "") << name;
  }
}

TEST_F(Simd, AWrongNameIsIgnoredAndExplained) {
  const test::Environment wrong("COLL_SIMD", "neon9");
  EXPECT_EXIT(exit_by_target(default_target(), true), testing::ExitedWithCode(0), "");
  const std::string message = simd_environment_error();
  EXPECT_NE(message.find("neon9"), std::string::npos);
  EXPECT_NE(message.find("scalar"), std::string::npos) << "names what can be set";
}

TEST_F(Simd, NothingIsWrongWithoutTheVariable) {
  const test::Environment none("COLL_SIMD", nullptr);
  EXPECT_EQ(simd_environment_error(), "");
}

}  // namespace
}  // namespace coll::mem
