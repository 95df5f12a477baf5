// SPDX-License-Identifier: BSD-3-Clause
#include "comm/bound_plans.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

using coll::comm::BoundEntry;
using coll::comm::BoundKey;
using coll::comm::BoundPlans;
using coll::comm::Pieces;

namespace {

BoundKey key_of(size_t count, int root = 0, coll::plan::Collective collective = coll::plan::Collective::bcast) {
  return {.collective = collective, .channel = 0, .root = root, .count = count, .element_bytes = 4};
}

TEST(BoundPlans, ForgottenOnesAreTheLongestUnused) {
  BoundPlans plans;
  const BoundEntry* const used = &plans.insert({.key = key_of(0)});
  for (size_t count = 1; count < 100 * BoundPlans::sets * BoundPlans::ways; count++) {
    plans.insert({.key = key_of(count)});
    ASSERT_NE(plans.find(key_of(count), nullptr), nullptr);
    ASSERT_NE(plans.find(key_of(0), nullptr), nullptr) << "used after every other one";
  }
  EXPECT_EQ(plans.find(key_of(0), nullptr), used);
  EXPECT_EQ(plans.find(key_of(1), nullptr), nullptr) << "there is room for " << BoundPlans::sets * BoundPlans::ways;
}

// A typical program calls some collectives with a few counts each, often powers of two.
TEST(BoundPlans, TwentyCallsStayInNearlyEveryDraw) {
  const char* given = std::getenv("COLL_TEST_SEED");
  const unsigned seed = given != nullptr ? unsigned(std::atoi(given)) : std::random_device()();
  std::cerr << "COLL_TEST_SEED=" << seed << '\n';
  std::mt19937 random(seed);
  int complete = 0;
  for (int draw = 0; draw < 1000; draw++) {
    BoundPlans plans;
    std::vector<BoundKey> keys;
    for (int i = 0; i < 20; i++) {
      const size_t count = random() % 2 != 0 ? size_t(1) << random() % 24 : random() % 100'000;
      keys.push_back(key_of(count, int(random() % 3), coll::plan::Collective(random() % coll::plan::collectives)));
      if (plans.find(keys.back(), nullptr) == nullptr) plans.insert({.key = keys.back()});
    }
    complete +=
        int(std::ranges::all_of(keys, [&](const BoundKey& key) { return plans.find(key, nullptr) != nullptr; }));
  }
  EXPECT_GE(complete, 995);
}

TEST(BoundPlans, RootsOfManyRanksStay) {
  BoundPlans plans;
  int found = 0;
  for (int root = 0; root < 128; root++) plans.insert({.key = key_of(1024, root)});
  for (int root = 0; root < 128; root++) found += int(plans.find(key_of(1024, root), nullptr) != nullptr);
  EXPECT_GE(found, 120);
}

TEST(BoundPlans, LengthsOfBlocksAreComparedInFull) {
  BoundPlans plans;
  BoundKey key = key_of(0);
  key.pieces = 7;  // as if two digests were equal
  auto lengths = std::make_shared<Pieces>();
  lengths->counts = {1, 2};
  Pieces others = *lengths;
  plans.insert({.key = key, .pieces = lengths});
  EXPECT_NE(plans.find(key, &others), nullptr);
  others.counts = {2, 1};
  EXPECT_EQ(plans.find(key, &others), nullptr);
  EXPECT_EQ(plans.find(key, nullptr), nullptr);
}

}  // namespace
