// SPDX-License-Identifier: BSD-3-Clause
// Where a rank sits on a machine, and how far two ranks are from each other.
#pragma once

#include <cstdint>

namespace coll::topo {

// The smallest domain that two ranks share, nearest first.
enum class Distance : std::uint8_t {
  self,    // the same processing unit (or the same rank)
  core,    // the same core, or cores that share an L2
  l3,      // the same L3
  numa,    // the same NUMA node, another L3 or none
  socket,  // the same socket, another NUMA node
  node,    // another socket, or nothing is known
};
inline constexpr int distance_count = 6;

// "self", "core", "l3", "numa", "socket", "node". Never null.
const char *distance_name(Distance distance);

// One number per level, unique over the machine; -1 where the machine has no such level or where the rank may
// sit in several of them (it is not bound). All numbers count from 0 in the machine's order except `pu`,
// which is the operating system's CPU number.
struct Place {
  int package = -1;
  int numa = -1;
  int l3 = -1;
  int core = -1;
  int pu = -1;
  int l2 = -1;

  bool operator==(const Place &) const = default;
  // Bound so that at least its core is known.
  bool bound() const { return core >= 0; }
  // Nothing at all is known.
  bool unknown() const { return *this == Place{}; }
};

// Decided by the outermost level in which the two differ, so that one number is always an upper bound: a level
// that is -1 on either side counts as not shared. Two unknown places are `node` apart.
Distance distance(const Place &a, const Place &b);

}  // namespace coll::topo
