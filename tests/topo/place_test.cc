// SPDX-License-Identifier: BSD-3-Clause
#include "topo/place.h"

#include <gtest/gtest.h>

namespace coll::topo {
namespace {

constexpr Place base{.package = 0, .numa = 1, .l3 = 2, .core = 5, .pu = 10, .l2 = 3};

Place with(int Place::*level, int value) {
  Place place = base;
  place.*level = value;
  return place;
}

TEST(Distance, IsThatOfTheOutermostLevelThatDiffers) {
  Place other_core = with(&Place::core, 6);
  other_core.pu = 11;
  Place other_l2 = other_core;
  other_l2.l2 = 4;
  Place other_l3 = other_l2;
  other_l3.l3 = 3;
  Place other_numa = base;  // an L3 shared by two NUMA nodes: the memory decides
  other_numa.numa = 0;
  Place other_socket = base;  // one NUMA node over two sockets
  other_socket.package = 1;

  EXPECT_EQ(distance(base, base), Distance::self);
  EXPECT_EQ(distance(base, with(&Place::pu, 11)), Distance::core);
  EXPECT_EQ(distance(base, other_core), Distance::core);
  EXPECT_EQ(distance(base, other_l2), Distance::l3);
  EXPECT_EQ(distance(base, other_l3), Distance::numa);
  EXPECT_EQ(distance(base, other_numa), Distance::socket);
  EXPECT_EQ(distance(base, other_socket), Distance::node);
}

TEST(Distance, TreatsUnknownLevelsAsFar) {
  Place unbound{.package = 0, .numa = 1};

  EXPECT_EQ(distance(unbound, unbound), Distance::numa);
  EXPECT_EQ(distance(unbound, base), Distance::numa);
  EXPECT_EQ(distance(Place{.package = 0}, base), Distance::socket);
  EXPECT_EQ(distance(Place{}, Place{}), Distance::node);
  EXPECT_EQ(distance(Place{}, base), Distance::node);
}

TEST(Distance, HasANameEach) {
  EXPECT_STREQ(distance_name(Distance::self), "self");
  EXPECT_STREQ(distance_name(Distance::core), "core");
  EXPECT_STREQ(distance_name(Distance::l3), "l3");
  EXPECT_STREQ(distance_name(Distance::numa), "numa");
  EXPECT_STREQ(distance_name(Distance::socket), "socket");
  EXPECT_STREQ(distance_name(Distance::node), "node");
}

}  // namespace
}  // namespace coll::topo
