// SPDX-License-Identifier: BSD-3-Clause
// Scatter, gather, allgather and alltoall in small groups (lib/algo/grouped.cc): the work of a rank within its group,
// then between groups, with one copy per peer.
#include <algorithm>

#include "model/formulas.h"

namespace coll::model {

namespace {

using topo::Distance;

struct Groups {
  int count = 0, members = 1;        // members: of the largest group
  Distance inside = Distance::self;  // the largest distance of a leader and a member

  explicit Groups(const Setting& on) {
    const topo::Hierarchy& hierarchy = on.hierarchy();
    const topo::Hierarchy& small = on.small_groups(topo::Counted::ranks);
    count = small.groups(0);
    for (int group = 0; group < count; ++group) {
      const std::vector<int> ranks = small.ranks_of(0, group);
      members = std::max(members, int(ranks.size()));
      for (int rank : ranks) inside = std::max(inside, hierarchy.distance(ranks.front(), rank));
    }
  }
};

// A rank waits for a flag of each of `others` ranks.
Terms waits_for(const Setting& on, int others, Distance distance) {
  return flags(others == 0 ? 0 : on.flag_us(distance) + (others - 1) * on.look_us());
}

}  // namespace

Terms gather_grouped(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return transfer(on.memcpy_us(bytes));
  const Groups groups(on);
  const Passes passes(bytes, knobs.chunk_bytes);
  const int inside = groups.members - 1, outside = groups.count - 1;
  Terms pass = waits_for(on, inside, groups.inside) + waits_for(on, outside, on.farthest()) +
               transfer(on.memcpy_us(passes.bytes * on.ranks()));
  if (inside > 0) pass += on.copy(passes.bytes, inside, groups.inside);
  if (outside > 0) pass += on.copy(passes.bytes * groups.members, outside);
  return passes.number * pass;
}

Terms scatter_grouped(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return transfer(on.memcpy_us(bytes));
  const Passes passes(bytes, knobs.chunk_bytes);
  const topo::Hierarchy& small = on.small_groups(topo::Counted::l3s);
  const topo::Tree tree = small.tree_for_root(0);
  double down_us = 0;
  for (int level = 0; level < tree.levels(); ++level) {
    double slowest = 0;
    for (int index = 0; index < tree.groups(level); ++index) {
      const topo::Group group = tree.group(level, index);
      Distance distance = Distance::self;
      for (int member : group.members) distance = std::max(distance, small.distance(group.leader(), member));
      const int readers = std::min(int(group.members.size()), topo::small_group) - 1;
      if (readers > 0) slowest = std::max(slowest, on.flag_us(distance) + (readers - 1) * on.line_us());
    }
    down_us += slowest;
  }
  return passes.number *
         (transfer(on.stage_us(passes.bytes * on.ranks())) + flags(down_us) + on.copy(passes.bytes, on.ranks() - 1));
}

Terms allgather_grouped(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return transfer(on.memcpy_us(bytes));
  const Groups groups(on);
  const Passes passes(bytes, knobs.chunk_bytes);
  const int inside = groups.members - 1, outside = groups.count - 1;
  const double packed = passes.bytes * groups.members;
  Terms pass = waits_for(on, inside, groups.inside) + transfer(2 * on.memcpy_us(packed)) +
               flags(on.tiny_bcast_us() + std::max(outside - 1, 0) * on.look_us()) + from_peers(on, packed, outside);
  if (inside > 0) pass += on.copy(passes.bytes, inside, groups.inside);
  return passes.number * pass;
}

Terms alltoall_grouped(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return transfer(on.memcpy_us(bytes));
  const Groups groups(on);
  const Passes passes(bytes, knobs.chunk_bytes);
  const int inside = groups.members - 1, outside = groups.count - 1;
  // A rank copies all its blocks to its slots, and sorts the blocks that it forwards.
  Terms pass = transfer(2 * on.stage_us(passes.bytes * on.ranks()) + 2 * on.ranks() * on.step_us()) +
               waits_for(on, inside, groups.inside) + waits_for(on, outside, on.farthest());
  Terms fetched = from_peers(on, passes.bytes * groups.members, outside);
  fetched.transfer_us = std::max(fetched.transfer_us, on.us(on.exchanged(passes.bytes)) - fetched.startup_us);
  pass += fetched;
  if (inside > 0) pass += inside * on.copy(passes.bytes * groups.count, 1, groups.inside);
  return passes.number * pass;
}

}  // namespace coll::model
