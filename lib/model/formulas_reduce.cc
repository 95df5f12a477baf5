// SPDX-License-Identifier: BSD-3-Clause
// Reductions. Most papers give their cost as data access volume (tests/model/volume.h); these formulas price the same
// steps as the work of one rank: copies, reductions, and waits for flags.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "algo/groups.h"
#include "algo/nodes.h"
#include "model/formulas.h"
#include "model/work.h"

namespace coll::model {

namespace {

// A tree reduction: on each level the leaders combine their group's operands. A leader of several levels does the work
// of all of them, chunk by chunk, so that only the first chunk waits for the flags of each level.
Terms up_the_tree(const Setting& on, double bytes, const Knobs& knobs) {
  const Passes passes(bytes, knobs.chunk_bytes);
  Terms work, first;
  for (const std::vector<FoldGroup>& level : on.folds()) {
    Terms stage;
    topo::Distance distance = topo::Distance::self;
    for (const FoldGroup& group : level) {
      Terms one = flags((group.members - 1) * on.look_us());
      for (int sources : group.sources)
        one += transfer(on.reduce_us(passes.bytes, sources, 2 * bytes * on.ranks())) +
               Terms{.startup_us = (sources - 1) * on.access().startup_us[group.distance]};
      if (one.total_us() > stage.total_us()) stage = one, distance = group.distance;
    }
    work += stage;
    first += flags(on.flag_us(distance));
  }
  return first + passes.number * work;
}

// A tree reduction in which each member of a group reduces a slice. Partial results pass through slots of the leader.
// The busiest rank is one that leads all levels, or one that leads none.
Terms up_by_index(const Setting& on, double bytes, const Knobs& knobs, bool sends_down) {
  const Passes passes(bytes, knobs.chunk_bytes);
  Terms work, leaf, first;
  for (const std::vector<FoldGroup>& level : on.folds()) {
    Terms stage;
    for (const FoldGroup& group : level) {
      const int members = group.members;
      double own_us = 0, startup_us = 0;
      for (int sources : group.sources) {
        own_us += on.reduce_us(passes.bytes / members, sources, 2 * bytes * on.ranks());
        // Members store their slices in the leader's memory.
        own_us += on.copy(passes.bytes / members, 1, group.distance).transfer_us;
        startup_us += sources * on.mean_startup_us();
      }
      // Only the innermost groups have many members behind one link.
      const bool innermost = &level == &on.folds().front();
      const double links_us = innermost ? on.us(on.exchanged_within(passes.bytes / members, members)) : 0;
      const Terms one = transfer(std::max(own_us, links_us)) + Terms{.startup_us = startup_us} +
                        flags(2 * (members - 1) * on.look_us());
      if (one.total_us() > stage.total_us()) stage = one;
    }
    if (stage.total_us() == 0) continue;
    work += stage;
    if (leaf.total_us() == 0) leaf = stage;
    first += flags(2 * on.flag_us(on.farthest()));
  }
  // The root copies the result to its receive buffer, and in an allreduce into the slots that its children read.
  work += transfer((sends_down ? 2 : 1) * on.memcpy_us(passes.bytes));
  if (sends_down) {
    leaf += on.copy_through(on.to_first(1, true), on.neighbours(), passes.bytes, true);
    const Terms down = bcast_hierarchical(on, passes.bytes, {});
    first += down;
  }
  return first + passes.number * (work.total_us() > leaf.total_us() ? work : leaf);
}

// All ranks copy out the result of one rank, chunk by chunk, while that rank makes the next chunks.
Terms copied_out(const Setting& on, double bytes, const Knobs& knobs, const Terms& made) {
  const Passes passes(bytes, knobs.chunk_bytes);
  const Terms one = on.copy(passes.bytes, on.ranks() - 1, on.farthest(), true);
  const Terms all = passes.number * one;
  return flags(on.tiny_bcast_us()) + (made.total_us() > all.total_us() ? made + one : all + 1 / passes.number * made);
}

}  // namespace

// ---- reduce_scatter -------------------------------------------------------------------------------------------------

Terms reduce_scatter_ring(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  // p - 1 steps: a rank copies a slice to its neighbour's slots, where the neighbour combines it.
  return Work(on, bytes, knobs).fetches((p - 1.0) / p, p - 1).reduces((p - 1.0) / p, 2).waits(p - 1).total();
}

namespace {

Work by_halves(const Setting& on, double bytes, const Knobs& knobs, bool in_blocks) {
  Work work(on, bytes, knobs);
  if (in_blocks) work.of_blocks();
  // The half that the rank's first partner needs.
  if (on.mechanism() == Mechanism::shared_memory) work.copies_in(0.5);
  work.halves_and_adds(in_blocks);
  return work;
}

}  // namespace

Terms reduce_scatter_rabenseifner(const Setting& on, double bytes, const Knobs& knobs) {
  return on.ranks() == 1 ? alone(on, bytes) : by_halves(on, bytes, knobs, true).in_lanes().total();
}

namespace {

Terms in_slices(const Setting& on, Work work, double bytes) {
  if (on.ranks() == 1) return alone(on, bytes);
  return work.copies_in(1).meets().reduces_slices().total();
}
// A reduce-scatter copies in each block separately.
Terms staged_blocks(const Setting& on, double bytes, const Knobs& knobs) {
  return Work(on, bytes, knobs).steps(on.ranks()).total();
}

}  // namespace

Terms reduce_scatter_dpml(const Setting& on, double bytes, const Knobs& knobs) {
  return in_slices(on, Work(on, bytes, knobs).of_blocks(), bytes) + staged_blocks(on, bytes, knobs);
}

Terms reduce_scatter_movement_avoiding(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  // In p steps a rank adds its own input to the partial result that its neighbour has left in the shared slot.
  return Work(on, bytes, knobs).copies(1.0 / p).reduces((p - 1.0) / p, 2).waits(p).total();
}

Terms reduce_scatter_movement_avoiding_socket(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks(), q = on.ranks_per_socket(), m = on.sockets();
  if (p == 1) return alone(on, bytes);
  return Work(on, bytes, knobs).copies(1.0 / q).reduces((q - 1.0) / q, 2).waits(q).reduces(1.0 / p, m).meets().total();
}

namespace {

// The outermost groups of a hierarchy as dpml_two_level uses them. Each group cuts the vector into as many slices as
// the smallest group has members, whatever its own size, and reduces a slice for each node (algo/nodes.h) that it
// consists of.
struct Outermost {
  algo::Sockets groups;
  topo::Distance inside = topo::Distance::self;  // the largest distance of a group's first rank and another member
  int nodes = 0, nodes_of_group = 1;             // of all groups, and of the group with most nodes

  explicit Outermost(const topo::Hierarchy& hierarchy) : groups(algo::Sockets::of(hierarchy)) {
    if (!groups.are_consecutive()) groups = algo::Sockets::one(hierarchy.ranks());
    for (const std::vector<int>& ranks : groups.groups) {
      for (int rank : ranks) inside = std::max(inside, hierarchy.distance(ranks.front(), rank));
      const int count = int(algo::nodes_of({ranks.front(), ranks.back() + 1}, hierarchy.ranks()).size());
      nodes += count;
      nodes_of_group = std::max(nodes_of_group, count);
    }
  }
  int shares() const { return groups.slices * groups.count(); }
};

// Within the outermost groups, then across them. `blocks`: the blocks of a slice, which are reduced separately.
Terms in_two_levels(const Setting& on, double bytes, const Knobs& knobs, const Outermost& of, double blocks,
                    int shares) {
  return Work(on, bytes, knobs)
      .copies_in(1)
      .meets_in_group(of.groups.longest, of.inside)
      .reduces_in_group(of.groups.longest, of.groups.slices, of.inside, blocks)
      .steps(blocks * of.nodes_of_group)
      .waits()
      .looks(of.groups.count() - 1)
      .reduces(1.0 / shares, of.nodes)
      .total();
}

}  // namespace

Terms reduce_scatter_dpml_two_level(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  const Outermost of(on.hierarchy());
  return in_two_levels(on, bytes, knobs, of, double(p) / of.groups.slices, p) + staged_blocks(on, bytes, knobs);
}

namespace {

Terms fused(const Setting& on, Work work, double bytes) {
  return on.ranks() == 1 ? alone(on, bytes) : work.meets().reduces_slices().waits().total();
}

}  // namespace

Terms reduce_scatter_fused(const Setting& on, double bytes, const Knobs& knobs) {
  return fused(on, Work(on, bytes, knobs).of_blocks(), bytes);
}

// ---- allreduce: a reduce-scatter, then an allgather of the slices --------------------------------------------------

namespace {

// `shares`: the ranks that have a part of the result; 0: all.
Terms spread(const Setting& on, double bytes, const Knobs& knobs, int shares = 0) {
  const int p = on.ranks();
  if (p == 1) return {};
  return Work(on, bytes, knobs).meets().copies_out_slices(shares > 0 ? shares : p).total();
}

}  // namespace

Terms allreduce_ring(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  return reduce_scatter_ring(on, bytes, knobs) +
         Work(on, bytes, knobs).fetches((p - 1.0) / p, p - 1).waits(p - 1).total();
}
Terms allreduce_rabenseifner(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  Work work = by_halves(on, bytes, knobs, false);
  work.doubles();
  // Results are copied to slots, too.
  if (on.mechanism() == Mechanism::shared_memory) work.copies(halves(p) / 2);
  return work.in_lanes().total();
}
Terms allreduce_dpml(const Setting& on, double bytes, const Knobs& knobs) {
  return in_slices(on, Work(on, bytes, knobs), bytes) + spread(on, bytes, knobs);
}
Terms allreduce_dpml_two_level(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  const Outermost of(on.hierarchy());
  return in_two_levels(on, bytes, knobs, of, 1, of.shares()) + spread(on, bytes, knobs, of.shares());
}
Terms allreduce_movement_avoiding(const Setting& on, double bytes, const Knobs& knobs) {
  return reduce_scatter_movement_avoiding(on, bytes, knobs) + spread(on, bytes, knobs);
}
Terms allreduce_movement_avoiding_socket(const Setting& on, double bytes, const Knobs& knobs) {
  return reduce_scatter_movement_avoiding_socket(on, bytes, knobs) + spread(on, bytes, knobs);
}
Terms allreduce_fused(const Setting& on, double bytes, const Knobs& knobs) {
  return fused(on, Work(on, bytes, knobs), bytes) + spread(on, bytes, knobs);
}

Terms allreduce_shared_address_space(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  // Each step combines two operands, so that all but one of the p - 1 results are operands again. Then all ranks copy
  // all slices.
  return Work(on, bytes, knobs).meets().reduces_slices().reduces_own((p - 2.0) / p, 1).steps(p - 2).waits().total() +
         spread(on, bytes, knobs);
}

Terms allreduce_all_read(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  return Work(on, bytes, knobs).copies(1).meets().reduces(1, on.ranks()).total();
}

Terms allreduce_recursive_doubling(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  Work work(on, bytes, knobs);
  work.copies(1);
  for (int bit = 0; 1 << bit < p; ++bit) work.waits_for(on.exchange_distance(bit)).adds(on.exchange_distance(bit), bit);
  return work.total();
}

// The root and other leaders reduce and forward, chunk by chunk.
Terms allreduce_hierarchical(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  const Passes passes(bytes, knobs.chunk_bytes);
  const Terms up = up_the_tree(on, bytes, knobs), down = bcast_hierarchical(on, bytes, knobs);
  const Terms& slower = up.total_us() > down.total_us() ? up : down;
  const Terms& other = up.total_us() > down.total_us() ? down : up;
  return slower + 1 / passes.number * other + transfer(on.memcpy_us(bytes));
}
Terms allreduce_hierarchical_by_index(const Setting& on, double bytes, const Knobs& knobs) {
  return on.ranks() == 1 ? alone(on, bytes) : up_by_index(on, bytes, knobs, true);
}

// ---- reduce --------------------------------------------------------------------------------------------------------

Terms reduce_flat(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  return flags(on.tiny_gather_us() + on.flag_us(on.farthest())) + Work(on, bytes, knobs).reduces(1, on.ranks()).total();
}
Terms reduce_fused(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  const double out_us = on.mechanism() == Mechanism::shared_memory ? on.memcpy_us(bytes) : 0;  // of the root's slots
  const Passes passes(bytes, knobs.chunk_bytes);
  return fused(on, Work(on, bytes, knobs), bytes) + flags(on.tiny_gather_us()) +
         passes.number * on.write(passes.bytes / p, p - 1) + transfer(out_us);
}
Terms reduce_hierarchical(const Setting& on, double bytes, const Knobs& knobs) {
  return on.ranks() == 1 ? alone(on, bytes) : up_the_tree(on, bytes, knobs);
}
Terms reduce_hierarchical_by_index(const Setting& on, double bytes, const Knobs& knobs) {
  return on.ranks() == 1 ? alone(on, bytes) : up_by_index(on, bytes, knobs, false);
}

namespace {

// The root copies out the slices that the other ranks have left in shared slots.
Terms collect(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return {};
  return flags(on.tiny_gather_us()) + Work(on, bytes, knobs).fetches(1, p - 1).looks(p - 1).total();
}

}  // namespace

Terms reduce_movement_avoiding(const Setting& on, double bytes, const Knobs& knobs) {
  return reduce_scatter_movement_avoiding(on, bytes, knobs) + collect(on, bytes, knobs);
}
Terms reduce_movement_avoiding_socket(const Setting& on, double bytes, const Knobs& knobs) {
  return reduce_scatter_movement_avoiding_socket(on, bytes, knobs) + collect(on, bytes, knobs);
}
Terms reduce_dpml(const Setting& on, double bytes, const Knobs& knobs) {
  return in_slices(on, Work(on, bytes, knobs), bytes) + collect(on, bytes, knobs);
}

Terms reduce_dpml_two_level(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  // The owners write their shares to the root's slots, from which it copies them.
  const Outermost of(on.hierarchy());
  const int writers = of.shares();
  const Passes passes(bytes, knobs.chunk_bytes);
  return in_two_levels(on, bytes, knobs, of, 1, writers) +
         flags(on.flag_us(on.farthest()) + (writers - 1) * on.look_us()) +
         passes.number * on.write(passes.bytes / writers, writers) + transfer(on.memcpy_us(bytes));
}

Terms reduce_rg(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks(), k = int(std::bit_ceil(unsigned(std::clamp(knobs.k, 1, std::max(p - 1, 1))) + 1)) - 1;
  if (p == 1) return alone(on, bytes);
  // Levels of groups of k + 1: members copy in, the leader combines.
  Work work(on, bytes, knobs);
  work.copies_in(1);
  for (long reached = 1; reached < p; reached *= k + 1) {
    const int others = int(std::min<long>(k, (p - 1) / reached));
    work.waits_for(on.hierarchy().distance(0, int(std::min<long>(others * reached, p - 1))))
        .looks(others - 1)
        .reduces(1, others + 1);
  }
  return work.total();
}
Terms allreduce_rg(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  return copied_out(on, bytes, knobs, reduce_rg(on, bytes, knobs));
}

// ---- in groups of consecutive ranks (lib/algo/grouped_reduce.cc) ---------------------------------------------------

namespace {

struct AlignedGroups {
  int members, count;
  topo::Distance inside = topo::Distance::self;  // the largest distance of a group's first rank and another member

  explicit AlignedGroups(const topo::Hierarchy& hierarchy)
      : members(std::min(hierarchy.ranks(), topo::small_group)),
        count((hierarchy.ranks() + topo::small_group - 1) / topo::small_group) {
    for (int rank = 0; rank < hierarchy.ranks(); ++rank)
      inside = std::max(inside, hierarchy.distance(rank / topo::small_group * topo::small_group, rank));
  }
};

// The members of a group copy their inputs to its first rank, which reduces them.
Work inside_groups(const Setting& on, double bytes, const Knobs& knobs) {
  const AlignedGroups groups(on.hierarchy());
  Work work(on, bytes, knobs);
  work.copies_to(groups.inside).sees(groups.members - 1, 1, groups.inside).reduces_own(1, groups.members);
  return work;
}

}  // namespace

Terms reduce_grouped(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  const int groups = AlignedGroups(on.hierarchy()).count;
  Work work = inside_groups(on, bytes, knobs);
  return groups > 1 ? work.fetches(0, 1).sees(groups - 1).reduces_own(1, groups).total() : work.copies(1).total();
}
Terms allreduce_grouped(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  const int groups = AlignedGroups(on.hierarchy()).count;
  Work work = inside_groups(on, bytes, knobs);
  work.sees(groups - 1, groups - 1).reduces(1, groups);
  return work.sees(1, topo::small_group - 1, AlignedGroups(on.hierarchy()).inside).fetches(1, 1).total();
}
// Each member of a group reduces a share.
Terms reduce_scatter_grouped(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  const AlignedGroups groups(on.hierarchy());
  Work work(on, bytes, knobs);
  work.fetches_in_group(groups.members, groups.inside).sees(groups.members - 1, 1, groups.inside);
  work.reduces_own(1.0 / groups.members, groups.members);
  return work.sees(groups.count).reduces(1.0 / p, groups.count + 1).total();
}
// The first rank of a group reduces for each member the inputs of the members before it.
Terms scan_grouped(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  const AlignedGroups groups(on.hierarchy());
  Work work = inside_groups(on, bytes, knobs);
  for (int members = 2; members < groups.members; ++members) work.reduces_own(1, members);
  return work.sees(groups.count, on.ranks() - 1).reduces(1, groups.count + 1).total();
}

}  // namespace coll::model
