// SPDX-License-Identifier: BSD-3-Clause
// The place of a rank on a machine, and the distance between two places.
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
  node,    // different sockets, or the socket of one is not known
};
inline constexpr int distance_count = 6;

// "self", "core", "l3", "numa", "socket", "node". Never null.
const char *distance_name(Distance distance);

// One number per level, unique on the machine; -1 if the machine has no such level, or if the rank may run in several
// domains of it (it is not bound). All numbers count from 0 in the machine's order except `pu`, which is the operating
// system's CPU number.
struct Place {
  int package = -1;
  int numa = -1;
  int l3 = -1;
  int core = -1;
  int pu = -1;
  int l2 = -1;

  bool operator==(const Place &) const = default;
  // Whether the rank is bound to one core.
  bool bound() const { return core >= 0; }
  // Whether no level is known.
  bool unknown() const { return *this == Place{}; }
};

// The distance is determined by the outermost level in which the two places differ. A level that is -1 on either side
// counts as different, so the result is always an upper bound. Two unknown places have distance `node`.
Distance distance(const Place &a, const Place &b);

}  // namespace coll::topo
