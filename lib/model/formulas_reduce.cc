// SPDX-License-Identifier: BSD-3-Clause
// Reductions. Most papers give their cost as data access volume (tests/model/volume.h); these formulas price the same
// steps as the work of one rank: copies, reductions, and waits for flags.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "model/formulas.h"
#include "model/work.h"

namespace coll::model {

namespace {

// The outermost groups of a hierarchy: their number, the ranks of the largest one, and how far these are from its
// first.
struct Outermost {
  int count = 1, members = 1;
  topo::Distance inside = topo::Distance::self;

  explicit Outermost(const topo::Hierarchy& hierarchy) {
    const int level = hierarchy.levels() - 2;
    if (level < 0) {
      members = hierarchy.ranks();
      for (int rank = 1; rank < members; ++rank) inside = std::max(inside, hierarchy.distance(0, rank));
      return;
    }
    count = hierarchy.groups(level);
    for (int group = 0; group < count; ++group) {
      const std::vector<int> ranks = hierarchy.ranks_of(level, group);
      members = std::max(members, int(ranks.size()));
      for (int rank : ranks) inside = std::max(inside, hierarchy.distance(ranks.front(), rank));
    }
  }
};

// A tree reduction: on each level the leaders combine their group's operands. A leader of several levels does the work
// of all of them, chunk by chunk, so that only the first chunk waits for the flags of each level.
Terms up_the_tree(const Setting& on, double bytes, const Knobs& knobs) {
  const topo::Tree tree = on.hierarchy().tree_for_root(0);
  const Passes passes(bytes, knobs.chunk_bytes);
  Terms work, first;
  for (int level = 0; level < tree.levels(); ++level) {
    Terms stage;
    topo::Distance distance = topo::Distance::self;
    for (int index = 0; index < tree.groups(level); ++index) {
      const topo::Group group = tree.group(level, index);
      const int members = int(group.members.size());
      if (members < 2) continue;
      topo::Distance farthest = topo::Distance::self;
      for (int member : group.members) farthest = std::max(farthest, on.hierarchy().distance(group.leader(), member));
      const Terms one = transfer(on.reduce_us(passes.bytes, members, 2 * bytes * on.ranks())) +
                        Terms{.startup_us = (members - 1) * on.access().startup_us[farthest]} +
                        flags((members - 1) * on.look_us());
      if (one.total_us() > stage.total_us()) stage = one, distance = farthest;
    }
    work += stage;
    if (stage.total_us() > 0) first += flags(on.flag_us(distance));
  }
  return first + passes.number * work;
}

// A tree reduction in which each member of a group reduces a slice. Partial results pass through slots of the leader.
// The busiest rank is one that leads all levels, or one that leads none.
Terms up_by_index(const Setting& on, double bytes, const Knobs& knobs, bool sends_down) {
  const topo::Tree tree = on.hierarchy().tree_for_root(0);
  const Passes passes(bytes, knobs.chunk_bytes);
  Terms work, leaf, first;
  for (int level = 0; level < tree.levels(); ++level) {
    Terms stage;
    for (int index = 0; index < tree.groups(level); ++index) {
      const int members = int(tree.group(level, index).members.size());
      if (members < 2) continue;
      const double own_us = on.reduce_us(passes.bytes / members, members, 2 * bytes * on.ranks());
      // Only the innermost groups have many members behind one link.
      const double links_us = level > 0 ? 0 : on.us(on.exchanged_within(passes.bytes / members, members));
      const Terms one = transfer(std::max(own_us, links_us)) + Terms{.startup_us = members * on.mean_startup_us()} +
                        flags(2 * (members - 1) * on.look_us());
      if (one.total_us() > stage.total_us()) stage = one;
    }
    if (stage.total_us() == 0) continue;
    work += stage;
    if (leaf.total_us() == 0) leaf = stage;
    first += flags(2 * on.flag_us(on.farthest()));
  }
  // The root copies the result to its receive buffer, and into the slots of those below.
  work += transfer((sends_down ? 2 : 1) * on.memcpy_us(passes.bytes));
  if (sends_down) {
    leaf += on.copy_from(0, std::vector<int>(1, 1), on.neighbours(), passes.bytes, true, true);
    const Terms down = bcast_hierarchical(on, passes.bytes, {});
    first += down;
  }
  return first + passes.number * (work.total_us() > leaf.total_us() ? work : leaf);
}

// A pipeline of log2 p stages. The busiest rank is the last one, which joins log2 p results in one step, of a
// reduce-scatter for each block.
Terms up_the_in_order_tree(const Setting& on, double bytes, const Knobs& knobs, int blocks = 1) {
  const Passes passes(bytes, knobs.chunk_bytes);
  Terms sum, stage;
  for (int joined = 1; joined <= int(log2_up(on.ranks())); ++joined) {
    stage =
        transfer(on.reduce_us(passes.bytes, joined + 1)) + Terms{.startup_us = blocks * joined * on.mean_startup_us()};
    sum += stage + flags(on.flag_us(on.neighbours()));
  }
  return sum + (passes.number - 1) * (stage + flags(log2_up(on.ranks()) * on.look_us()));
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
  return on.ranks() == 1 ? alone(on, bytes) : by_halves(on, bytes, knobs, true).total();
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

Terms reduce_scatter_in_order_tree(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  return up_the_in_order_tree(on, bytes, knobs, p) + Work(on, bytes, knobs).copies(1.0 / p).total();
}

Terms reduce_scatter_movement_avoiding_socket(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks(), q = on.ranks_per_socket(), m = on.sockets();
  if (p == 1) return alone(on, bytes);
  return Work(on, bytes, knobs).copies(1.0 / q).reduces((q - 1.0) / q, 2).waits(q).reduces(1.0 / p, m).meets().total();
}

namespace {

// Within the outermost groups, then across them. `blocks`: that a rank reduces for its group.
Terms in_two_levels(const Setting& on, double bytes, const Knobs& knobs, const Outermost& groups, double blocks) {
  return Work(on, bytes, knobs)
      .copies_in(1)
      .meets_in_group(groups.members, groups.inside)
      .reduces_in_group(groups.members, groups.inside, blocks)
      .waits()
      .looks(groups.count - 1)
      .reduces(1.0 / on.ranks(), groups.count)
      .total();
}

}  // namespace

Terms reduce_scatter_dpml_two_level(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  const Outermost groups(on.hierarchy());
  return in_two_levels(on, bytes, knobs, groups, double(p) / groups.members) + staged_blocks(on, bytes, knobs);
}

namespace {

Terms fused(const Setting& on, Work work, double bytes) {
  return on.ranks() == 1 ? alone(on, bytes) : work.meets().reduces_slices().waits().total();
}

}  // namespace

Terms reduce_scatter_fused(const Setting& on, double bytes, const Knobs& knobs) {
  return fused(on, Work(on, bytes, knobs).of_blocks(), bytes);
}

// ---- allreduce: a reduce-scatter, then an allgather of the slices
// --------------------------------------------------------

namespace {

Terms spread(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return {};
  return Work(on, bytes, knobs).meets().copies_out_slices().total();
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
  return work.total();
}
Terms allreduce_dpml(const Setting& on, double bytes, const Knobs& knobs) {
  return in_slices(on, Work(on, bytes, knobs), bytes) + spread(on, bytes, knobs);
}
Terms allreduce_dpml_two_level(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  return in_two_levels(on, bytes, knobs, Outermost(on.hierarchy()), 1) + spread(on, bytes, knobs);
}
Terms allreduce_movement_avoiding(const Setting& on, double bytes, const Knobs& knobs) {
  return reduce_scatter_movement_avoiding(on, bytes, knobs) + spread(on, bytes, knobs);
}
Terms allreduce_movement_avoiding_socket(const Setting& on, double bytes, const Knobs& knobs) {
  return reduce_scatter_movement_avoiding_socket(on, bytes, knobs) + spread(on, bytes, knobs);
}
Terms allreduce_in_order_tree(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  return copied_out(on, bytes, knobs, up_the_in_order_tree(on, bytes, knobs));
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

// ---- reduce
// -----------------------------------------------------------------------------------------------------------

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
Terms reduce_in_order_tree(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  return up_the_in_order_tree(on, bytes, knobs) + Work(on, bytes, knobs).fetches(1, 1).total();
}
Terms reduce_dpml(const Setting& on, double bytes, const Knobs& knobs) {
  return in_slices(on, Work(on, bytes, knobs), bytes) + collect(on, bytes, knobs);
}

Terms reduce_dpml_two_level(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  // The owners write their shares to the root's slots, from which it copies them.
  return in_two_levels(on, bytes, knobs, Outermost(on.hierarchy()), 1) + flags(on.tiny_gather_us()) +
         transfer(on.memcpy_us(bytes));
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

// ---- in groups of consecutive ranks (lib/algo/grouped_reduce.cc)
// -----------------------------------------------------

namespace {

struct AlignedGroups {
  int members, count;
  explicit AlignedGroups(int ranks)
      : members(std::min(ranks, topo::small_group)), count((ranks + topo::small_group - 1) / topo::small_group) {}
};

// The members of a group copy their inputs to its first rank, which reduces them.
Work inside_groups(const Setting& on, double bytes, const Knobs& knobs) {
  const AlignedGroups groups(on.ranks());
  Work work(on, bytes, knobs);
  work.fetches(1, 1).sees(groups.members - 1).reduces_own(1, groups.members);
  return work;
}

}  // namespace

Terms reduce_grouped(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  const int groups = AlignedGroups(on.ranks()).count;
  Work work = inside_groups(on, bytes, knobs);
  return groups > 1 ? work.fetches(0, 1).sees(groups - 1).reduces_own(1, groups).total() : work.copies(1).total();
}
Terms allreduce_grouped(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  const int groups = AlignedGroups(on.ranks()).count;
  Work work = inside_groups(on, bytes, knobs);
  work.sees(groups - 1, groups - 1).reduces(1, groups);
  return work.sees(1, topo::small_group - 1).fetches(1, 1).total();
}
// Each member of a group reduces a share.
Terms reduce_scatter_grouped(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  const AlignedGroups groups(p);
  Work work(on, bytes, knobs);
  topo::Distance inside = topo::Distance::self;
  for (int rank = 1; rank < groups.members; ++rank) inside = std::max(inside, on.hierarchy().distance(0, rank));
  work.fetches_in_group(groups.members, inside).sees(groups.members - 1);
  work.reduces_own(1.0 / groups.members, groups.members);
  return work.sees(groups.count).reduces(1.0 / p, groups.count + 1).total();
}
// The first rank of a group reduces for each member the inputs of the members before it.
Terms scan_grouped(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  const AlignedGroups groups(on.ranks());
  Work work = inside_groups(on, bytes, knobs);
  for (int members = 2; members < groups.members; ++members) work.reduces_own(1, members);
  return work.sees(groups.count, on.ranks() - 1).reduces(1, groups.count + 1).total();
}

}  // namespace coll::model
