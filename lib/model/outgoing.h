// SPDX-License-Identifier: BSD-3-Clause
// Bytes that leave each L3, NUMA node and socket: the load of every link, where Setting knows that of the busiest one.
#pragma once

#include <algorithm>
#include <vector>

#include "model/cost.h"

namespace coll::model {

class Outgoing {
 public:
  explicit Outgoing(const topo::Hierarchy& hierarchy) : hierarchy_(hierarchy) {}

  // Data of rank `from` that passes between it and rank `to`.
  void add(int from, int to, double bytes) {
    const topo::Place& place = hierarchy_.place(from);
    const Load one = crossed(from, to);
    most_.l3 = std::max(most_.l3, at(l3s_, l3_of(place)) += one.l3 * bytes);
    most_.numa = std::max(most_.numa, at(numas_, place.numa) += one.numa * bytes);
    most_.socket = std::max(most_.socket, at(sockets_, place.package) += one.socket * bytes);
  }
  const Load& most() const { return most_; }
  // The load of the links between the two ranks.
  Load between(int from, int to) {
    const topo::Place& place = hierarchy_.place(from);
    const Load one = crossed(from, to);
    return {.l3 = one.l3 * at(l3s_, l3_of(place)),
            .numa = one.numa * at(numas_, place.numa),
            .socket = one.socket * at(sockets_, place.package)};
  }

 private:
  // Without an L3, data leaves the caches of its NUMA node.
  static int l3_of(const topo::Place& place) { return place.l3 >= 0 ? place.l3 : place.numa; }
  static double& at(std::vector<double>& of, int index) {
    const size_t i = size_t(std::max(index, 0));
    if (of.size() <= i) of.resize(i + 1);
    return of[i];
  }
  // 1 for each kind of link that is between the two ranks.
  Load crossed(int from, int to) const {
    const topo::Distance distance = hierarchy_.distance(from, to);
    return {.l3 = double(distance > topo::Distance::l3),
            .numa = double(distance >= topo::Distance::socket),
            .socket = double(distance >= topo::Distance::node)};
  }

  const topo::Hierarchy& hierarchy_;
  std::vector<double> l3s_, numas_, sockets_;
  Load most_;
};

}  // namespace coll::model
