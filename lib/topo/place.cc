// SPDX-License-Identifier: BSD-3-Clause
#include "topo/place.h"

namespace coll::topo {
namespace {

bool same(int a, int b) { return a >= 0 && a == b; }

}  // namespace

const char *distance_name(Distance distance) {
  switch (distance) {
    case Distance::self: return "self";
    case Distance::core: return "core";
    case Distance::l3: return "l3";
    case Distance::numa: return "numa";
    case Distance::socket: return "socket";
    case Distance::node: return "node";
  }
  return "node";
}

Distance distance(const Place &a, const Place &b) {
  if (!same(a.package, b.package)) return Distance::node;
  if (!same(a.numa, b.numa)) return Distance::socket;
  if (same(a.pu, b.pu)) return Distance::self;
  // Cores that share an L2 count as near, even on a machine without an L3.
  if (same(a.core, b.core) || same(a.l2, b.l2)) return Distance::core;
  if (same(a.l3, b.l3)) return Distance::l3;
  return Distance::numa;
}

}  // namespace coll::topo
