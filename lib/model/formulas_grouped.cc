// SPDX-License-Identifier: BSD-3-Clause
// Scatter, gather, allgather and alltoall in small groups (lib/algo/grouped.cc): the work of a rank within its group,
// then between groups, with one copy per peer.
#include <algorithm>
#include <vector>

#include "model/formulas.h"
#include "model/outgoing.h"
#include "model/work.h"

namespace coll::model {

namespace {

using topo::Distance;

struct Groups {
  int count = 0, members = 1;        // members: of the largest group
  int l3s = 1;                       // of the largest group; a rank without an L3 counts as one
  Distance inside = Distance::self;  // the largest distance of a leader and a member
  // By group. A reader on each L3 fetches what its group reads from a leader; `farthest` is farthest from its own leader.
  std::vector<int> leaders, farthest, sizes, readers;

  explicit Groups(const Setting& on) {
    const topo::Hierarchy& hierarchy = on.hierarchy();
    const topo::Hierarchy& small = on.small_groups(topo::Counted::ranks);
    count = small.groups(0);
    for (int group = 0; group < count; ++group) {
      const std::vector<int> ranks = small.ranks_of(0, group);
      std::vector<int> l3s_of_group;
      int far = ranks.front();
      for (int rank : ranks) {
        const int l3 = hierarchy.place(rank).l3;
        if (hierarchy.distance(ranks.front(), rank) > hierarchy.distance(ranks.front(), far)) far = rank;
        if (l3 < 0 || std::ranges::count(l3s_of_group, l3) == 0) l3s_of_group.push_back(l3);
      }
      leaders.push_back(ranks.front());
      farthest.push_back(far);
      sizes.push_back(int(ranks.size()));
      readers.push_back(int(l3s_of_group.size()));
      inside = std::max(inside, hierarchy.distance(ranks.front(), far));
      if (sizes.back() > members) members = sizes.back(), l3s = readers.back();
    }
  }
};

// A rank waits for a flag of each of `others` ranks.
Terms waits_for(const Setting& on, int others, Distance distance) {
  return flags(others == 0 ? 0 : on.flag_us(distance) + (others - 1) * on.look_us());
}

// A member of a group forwards the group's blocks for the ranks whose index is its own, modulo the number of members. The
// busiest one is a member of a small group.
struct Forwarder {
  int members = 1, targets = 0;  // the members of its group, and the ranks for which it has a block of each of them

  explicit Forwarder(const Groups& groups) {
    for (int size : groups.sizes) {
      int all = 0;
      for (int other : groups.sizes) all += (other + size - 1) / size;
      if (size * all > members * targets) members = size, targets = all;
    }
  }
};

// All ranks store `bytes` of their results, of `all_bytes` per rank, in memory, unless the caches hold all results.
double results_us(const Setting& on, double bytes, double sent_bytes, double all_bytes) {
  if (all_bytes <= result_cache_bytes(on.table())) return 0;
  const bool non_temporal = streams(on.table(), (sent_bytes + all_bytes) * on.ranks());
  return on.us(non_temporal ? on.loaded(bytes, true) : on.stored(bytes, true));
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
  // The members write to their leader, which packs the blocks.
  Terms pass = waits_for(on, inside, groups.inside) + transfer(on.memcpy_us(passes.bytes * groups.members));
  if (inside > 0) {
    Terms written = on.copy(passes.bytes, 1, groups.inside);
    written.transfer_us = std::max(written.transfer_us, on.us(on.exchanged_within(passes.bytes, groups.members, 1)));
    pass += written;
  }
  // All ranks copy from one leader after the other, beginning with their own. Those of a group read the same bytes at the
  // same time, so that those on one L3 fetch them once. Only the first flag has not been posted before the wait.
  pass += flags(on.flag_us(groups.inside) + (groups.l3s - 1) * on.line_us() + outside * on.look_us());
  if (groups.l3s < groups.members) pass += flags(on.flag_us(Distance::l3));
  std::vector<Terms> copied(groups.leaders.size());
  for (size_t step = 0; step < copied.size(); ++step) {
    const auto source = [&](size_t group) { return (group + step) % copied.size(); };
    const auto reader = [&](size_t group) { return step == 0 ? groups.farthest[group] : groups.leaders[group]; };
    const auto packed = [&](size_t group) { return passes.bytes * groups.sizes[source(group)]; };
    Outgoing outgoing(on.hierarchy());
    for (size_t group = 0; group < copied.size(); ++group)
      outgoing.add(groups.leaders[source(group)], reader(group),
                   (groups.readers[group] - (step == 0 ? 1 : 0)) * packed(group));
    for (size_t group = 0; group < copied.size(); ++group) {
      const int from = groups.leaders[source(group)];
      Terms one = on.copy(packed(group), 1, on.hierarchy().distance(from, reader(group))) + flags(on.step_us());
      one.transfer_us = std::max(one.transfer_us, on.us(outgoing.between(from, reader(group))));
      copied[group] += one;
    }
  }
  Terms slowest = *std::ranges::max_element(copied, {}, &Terms::total_us);
  slowest.transfer_us =
      std::max(slowest.transfer_us, results_us(on, passes.bytes * on.ranks(), bytes, bytes * on.ranks()));
  pass += slowest;
  // Before a leader fills a slot again, all ranks have copied what it contained.
  const double refilled = std::max(passes.number - knobs.depth, 0.0);
  return passes.number * pass + flags(refilled * (on.ranks() - 1) * on.look_us());
}

Terms alltoall_grouped(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return transfer(on.memcpy_us(bytes));
  const Groups groups(on);
  const Passes passes(bytes, knobs.chunk_bytes);
  const int p = on.ranks(), inside = groups.members - 1, outside = groups.count - 1;
  // A rank copies all its blocks to its slots, later it sorts the blocks that it forwards. The parts of an iteration
  // follow one another, as each of them waits for other ranks.
  const Forwarder busiest(groups);
  const int sorted = busiest.members * busiest.targets;
  Terms pass = transfer(inputs_us(on, on.stage_us(passes.bytes * p), passes.bytes * p, bytes * p) +
                        on.stage_us(passes.bytes * sorted)) +
               flags((p + sorted) * on.step_us()) + waits_for(on, inside, groups.inside) +
               waits_for(on, outside, on.farthest());
  // First every block moves within the group of its sender, then the blocks for other groups leave it.
  Terms fetched = (busiest.members - 1) * on.copy(passes.bytes * busiest.targets, 1, groups.inside);
  fetched.transfer_us =
      std::max(fetched.transfer_us, on.us(on.exchanged_within(passes.bytes * p / groups.members, groups.members)));
  Terms copied;
  for (size_t group = 1; group < groups.leaders.size(); ++group)
    copied += on.copy(passes.bytes * groups.sizes[group], 1, on.hierarchy().distance(0, groups.leaders[group]));
  Load leaving = on.exchanged(passes.bytes);
  leaving += on.exchanged_within(passes.bytes, groups.members).times(-1);
  copied.transfer_us += on.memcpy_us(passes.bytes * groups.members);
  copied.transfer_us = std::max(
      {copied.transfer_us, on.us(leaving) - copied.startup_us, results_us(on, passes.bytes * p, bytes * p, bytes * p)});
  return passes.number * (pass + fetched + copied);
}

}  // namespace coll::model
