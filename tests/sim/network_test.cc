// SPDX-License-Identifier: BSD-3-Clause
// Compares fair shares with values computed by hand.
#include <gtest/gtest.h>

#include "sim/network.h"

namespace coll::sim {
namespace {

// End times of flows 0 .. n-1, all started at time 0.
std::vector<double> ends(Network& network, size_t flows) {
  std::vector<double> at(flows, -1);
  for (size_t left = flows; left > 0;) {
    const double now = network.next_end();
    uint32_t flow;
    while (network.take_ended(now, flow)) at[flow] = now, --left;
  }
  return at;
}

TEST(Network, AloneAFlowIsAsFastAsItsEnds) {
  Network network({}, 1, 1);
  const uint32_t link = network.add_link(100);
  network.start(0, 0, 1000, {{{link, 1}}, {}, 0.1});
  EXPECT_NEAR(ends(network, 1)[0], 100, 1e-3);
}

TEST(Network, EqualFlowsShareEqually) {
  Network network({}, 1, 1);
  const uint32_t link = network.add_link(10);
  for (uint32_t flow = 0; flow < 4; ++flow) network.start(0, flow, 1000, {{{link, 1}}, {}, 0.1});
  for (double end : ends(network, 4)) EXPECT_NEAR(end, 400, 0.1);
}

// Links of 10 and 6: flow 0 is on both, 1 on the first, 2 and 3 on the second. Max-min: 2 2 2 on the second, 8 for flow 1.
TEST(Network, TheRestOfABoundFlowGoesToTheOthers) {
  Network network({}, 1, 1);
  const uint32_t wide = network.add_link(10), narrow = network.add_link(6);
  network.start(0, 0, 200, {{{wide, 1}, {narrow, 1}}, {}, 0.01});
  network.start(0, 1, 800, {{{wide, 1}}, {}, 0.01});
  network.start(0, 2, 200, {{{narrow, 1}}, {}, 0.01});
  network.start(0, 3, 200, {{{narrow, 1}}, {}, 0.01});
  for (double end : ends(network, 4)) EXPECT_NEAR(end, 100, 0.1);
}

TEST(Network, SharesGrowWhenAFlowEnds) {
  Network network({}, 1, 1);
  const uint32_t link = network.add_link(10);
  network.start(0, 0, 100, {{{link, 1}}, {}, 0.01});
  network.start(0, 1, 300, {{{link, 1}}, {}, 0.01});
  const std::vector<double> at = ends(network, 2);  // 5 each until 20, then 10
  EXPECT_NEAR(at[0], 20, 0.1);
  EXPECT_NEAR(at[1], 40, 0.1);
}

TEST(Network, WeightsCount) {
  Network network({}, 1, 1);
  const uint32_t link = network.add_link(9);
  network.start(0, 0, 300, {{{link, 2}}, {}, 0.01});  // at rate 3 it takes 6
  network.start(0, 1, 300, {{{link, 1}}, {}, 0.01});
  for (double end : ends(network, 2)) EXPECT_NEAR(end, 100, 0.1);
}

TEST(Network, LocksOfOneOwnerGrowWithGamma) {
  const model::Gamma gamma = {.quadratic = 0.5, .linear = 1};
  for (int readers : {1, 2, 5}) {
    Network network(gamma, 2, 8);
    for (int flow = 0; flow < readers; ++flow) network.start(0, uint32_t(flow), 1000, {{}, {{0, 0.2, 1}}, 0.1});
    network.start(0, uint32_t(readers), 1000, {{}, {{1, 0.2, 1}}, 0.1});  // another owner: no contention
    const std::vector<double> at = ends(network, size_t(readers) + 1);
    EXPECT_NEAR(at[0], 1000 * (0.1 + 0.2 * gamma(readers)), 0.1) << readers;
    EXPECT_NEAR(at.back(), 300, 0.1);
    EXPECT_EQ(network.most_present(), readers);
  }
}

TEST(Network, LocksAcrossSocketsTakeLonger) {
  const model::Gamma gamma = {.quadratic = 0, .linear = 1, .across = 3};
  Network network(gamma, 1, 2);
  for (uint32_t flow = 0; flow < 3; ++flow) network.start(0, flow, 1000, {{}, {{0, 0.1, 1}}, 0.1});
  EXPECT_NEAR(ends(network, 3)[0], 1000 * (0.1 + 0.1 * 9), 0.1);
}

TEST(Network, ShortTransfersSeeTheLoadAndAreSeen) {
  Network network({}, 1, 1);
  const uint32_t link = network.add_link(10);
  const Route route = {{{link, 1}}, {}, 0.01};
  EXPECT_NEAR(network.start_short(100, route), 10, 1e-6);
  EXPECT_NEAR(network.start_short(100, route), 20, 1e-6);
  network.start(0, 0, 300, route);
  network.end_short(route);
  EXPECT_NEAR(ends(network, 1)[0], 60, 0.1);  // the other flow has half of the link
}

}  // namespace
}  // namespace coll::sim
