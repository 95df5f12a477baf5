// SPDX-License-Identifier: BSD-3-Clause
#include "mem/processor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "../environment.h"
#include "config/variables.h"
#include "mem/simd.h"

namespace coll::mem {
namespace {

std::string names_of_profiles(const char* between) {
  std::string names;
  for (const Profile& profile : profiles()) names += (names.empty() ? "" : between) + std::string(profile.name);
  return names;
}

// Exits with 0 if a process that starts with this COLL_CPU follows the rules of `forced`, or those of any profile if it
// is null; and if it uses the best vector instructions of this machine, whatever processor COLL_CPU names.
[[noreturn]] void exit_by_rules(const Profile* forced) {
  std::string model = "some processor";
  uint64_t l2_bytes = 12345;
  apply_forced_profile(model, l2_bytes);
  const bool replaced = forced != nullptr ? model == forced->model && l2_bytes == forced->l2_bytes
                                          : model == "some processor" && l2_bytes == 12345;
  const bool follows = std::ranges::any_of(profiles(), [=](const Profile& profile) {
    return (forced == nullptr || &profile == forced) && profile.rules == processor();
  });
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const std::string best = "scalar";
#else
  const std::string best = simd_targets().front();
#endif
  std::_Exit(forced_profile() == forced && follows && replaced && best == simd_target() ? 0 : 1);
}

class Processors : public testing::Test {
 protected:
  // "threadsafe" starts the program again, so that it reads COLL_CPU as at any start.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  const test::Environment any_simd_{"COLL_SIMD", nullptr};
};

TEST_F(Processors, TheVariableNamesOneWhoseRulesAreFollowed) {
  for (const Profile& profile : profiles()) {
    const test::Environment forced("COLL_CPU", profile.name);
    EXPECT_EQ(forced_profile_error(), "");
    EXPECT_EXIT(exit_by_rules(&profile), testing::ExitedWithCode(0), "") << profile.name;
  }
}

TEST_F(Processors, AWrongNameIsAnErrorThatListsTheRightOnes) {
  const test::Environment forced("COLL_CPU", "zen9");
  EXPECT_EQ(forced_profile_error(),
            "COLL_CPU='zen9' is not a known processor; use one of " + names_of_profiles(", ") + ", or unset it");
}

TEST_F(Processors, WithoutTheVariableTheMachineDecides) {
  const test::Environment none("COLL_CPU", nullptr);
  EXPECT_EQ(forced_profile_error(), "");
  EXPECT_EXIT(exit_by_rules(nullptr), testing::ExitedWithCode(0), "");
}

// Exits with 0 if measured sizes replace those of the processor, or, if COLL_CPU named a profile, do not.
[[noreturn]] void exit_by_measured_sizes() {
  use_measured_rep_movsb(4096, Processor::never);
  const Processor& own = processor();
  const bool are_own = rep_movsb_load_min_bytes() == own.rep_movsb_load_min_bytes &&
                       rep_movsb_store_min_bytes() == own.rep_movsb_store_min_bytes;
  const bool are_measured = rep_movsb_load_min_bytes() == 4096 && rep_movsb_store_min_bytes() == Processor::never;
  std::_Exit((forced_profile() != nullptr ? are_own : are_measured) ? 0 : 1);
}

TEST_F(Processors, MeasuredSizesReplaceThoseOfAnUnnamedProfile) {
  for (const char* name : {static_cast<const char*>(nullptr), profiles().front().name}) {
    const test::Environment forced("COLL_CPU", name);
    EXPECT_EXIT(exit_by_measured_sizes(), testing::ExitedWithCode(0), "") << (name == nullptr ? "none" : name);
  }
}

// Two profiles with equal decisions would be one test twice.
TEST_F(Processors, NoTwoDecideAlike) {
  for (const Profile& one : profiles())
    for (const Profile& other : profiles())
      if (&one != &other) {
        EXPECT_FALSE(one.rules == other.rules && one.l2_bytes == other.l2_bytes &&
                     std::string(one.model) == other.model)
            << one.name << " " << other.name;
      }
}

TEST_F(Processors, AreThoseThatTheManualListsAndTestsRunOn) {
  EXPECT_EQ(config::find("COLL_CPU")->takes(), names_of_profiles(", "));
  EXPECT_EQ(COLL_TEST_CPUS, names_of_profiles(" "));
  const std::string by_stores = " " COLL_TEST_CPUS_BY_STORES " ";
  for (const Profile& profile : profiles())
    EXPECT_TRUE(std::ranges::any_of(profiles(),
                                    [&](const Profile& other) {
                                      return other.rules == profile.rules &&
                                             by_stores.find(" " + std::string(other.name) + " ") != std::string::npos;
                                    }))
        << "no test runs by the rules of " << profile.name;
}

}  // namespace
}  // namespace coll::mem
