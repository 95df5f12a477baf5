// SPDX-License-Identifier: BSD-3-Clause
// Reductions. Most texts give their cost as data access volume (volume.h); here the same steps are priced as what one rank
// does: copies, reductions, and the flags between them.
#include <algorithm>
#include <bit>
#include <cmath>

#include "model/formulas.h"

namespace coll::model {

namespace {

// What a rank does in one pass, all ranks at the same time.
class Work {
 public:
  Work(const Setting& on, double bytes, const Knobs& knobs)
      : on_(on), passes_(bytes, knobs.chunk_bytes), work_set_(2 * bytes * on.ranks()) {}
  // Parts of a pass, in vectors.
  Work& copies(double vectors) { return add(moving(on_.memcpy_us(vectors * passes_.bytes, work_set_))); }
  // Fetches `vectors` from peers, in so many copies.
  Work& fetches(double vectors, double calls) {
    Terms one = on_.copy(vectors * passes_.bytes / std::max(calls, 1.0), 1);
    one.startup_us = on_.mean_startup_us();
    one.transfer_us = vectors * passes_.bytes * on_.mean_us_per_byte() / std::max(calls, 1.0);
    return add(calls * one);
  }
  // One call that combines `sources` operands of so many vectors each.
  Work& reduces(double vectors, int sources) {
    add(moving(on_.reduce_us(vectors * passes_.bytes, sources, work_set_)));
    return add({.startup_us = (sources - 1) * on_.mean_startup_us()});
  }
  // The same of operands that lie in the rank's own memory.
  Work& reduces_own(double vectors, int sources) {
    return add(moving(on_.reduce_us(vectors * passes_.bytes, sources, work_set_)));
  }
  Work& meets(double times = 1) { return add(flags(times * on_.tiny_allgather_us())); }
  Work& waits(double times = 1) { return add(flags(times * on_.flag_us(on_.far()))); }
  // Sees that so many others are there; `readers` see the last of them at the same time.
  Work& sees(int others, int readers = 1) {
    if (others == 0) return *this;
    return add(flags(on_.flag_us(on_.far()) + (others - 1) * on_.look_us() + (readers - 1) * on_.line_us()));
  }
  Terms total() const { return passes_.number * pass_; }

 private:
  Work& add(const Terms& terms) {
    pass_ += terms;
    return *this;
  }
  const Setting& on_;
  Passes passes_;
  double work_set_;
  Terms pass_;
};

double log2_up(int p) { return std::ceil(std::log2(std::max(p, 1))); }
// Of a vector, halved until 1/p is left: 1/2 + 1/4 + ... + 1/p.
double halves(int p) { return (p - 1.0) / p; }

Terms alone(const Setting& on, double bytes) { return moving(on.memcpy_us(bytes)); }

// A level of a tree reduction: the leader (or the members, each a slice) combines the group's operands.
Terms up_the_tree(const Setting& on, double bytes, const Knobs& knobs, bool by_index) {
  const topo::Tree tree = on.hierarchy().tree_for_root(0);
  Terms sum, slowest;
  const Passes passes(bytes, knobs.chunk_bytes);
  for (int level = 0; level < tree.levels(); ++level) {
    Terms stage;
    for (int index = 0; index < tree.groups(level); ++index) {
      const int members = int(tree.group(level, index).members.size());
      if (members < 2) continue;
      const double share = by_index ? passes.bytes / std::max(members - 1, 1) : passes.bytes;
      const Terms one = moving(on.reduce_us(share, members, 2 * bytes * on.ranks())) +
                        Terms{.startup_us = (members - 1) * on.mean_startup_us()} +
                        flags(on.flag_us(on.far()) + (members - 1) * on.look_us());
      if (one.total_us() > stage.total_us()) stage = one;
    }
    sum += stage;
    if (stage.total_us() > slowest.total_us()) slowest = stage;
  }
  return sum + (passes.number - 1) * slowest;
}

// A pipeline of log2 p stages. The busiest rank is the last one, which joins log2 p results in its caches.
Terms up_the_in_order_tree(const Setting& on, double bytes, const Knobs& knobs) {
  const Passes passes(bytes, knobs.chunk_bytes);
  const Terms stage = moving(on.reduce_us(passes.bytes, 2)) + Terms{.startup_us = on.mean_startup_us()} +
                      flags(on.flag_us(on.neighbours()));
  return (passes.number + log2_up(on.ranks()) - 1) * stage;
}

}  // namespace

// ---- reduce_scatter -------------------------------------------------------------------------------------------------

Terms reduce_scatter_ring(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  // p - 1 steps: a slice is copied into the neighbour's slots and combined there.
  return Work(on, bytes, knobs).fetches((p - 1.0) / p, p - 1).reduces((p - 1.0) / p, 2).waits(p - 1).total();
}

Terms reduce_scatter_rabenseifner(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  return Work(on, bytes, knobs).fetches(halves(p), log2_up(p)).reduces(halves(p), 2).waits(log2_up(p)).total();
}

Terms reduce_scatter_dpml(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  return Work(on, bytes, knobs).copies(1).meets().reduces(1.0 / p, p).total();
}

Terms reduce_scatter_movement_avoiding(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  // In p steps a rank adds its own slice to what its neighbour left in the shared slot.
  return Work(on, bytes, knobs).copies(1.0 / p).reduces((p - 1.0) / p, 2).waits(p).total();
}

Terms reduce_scatter_in_order_tree(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  return up_the_in_order_tree(on, bytes, knobs) + Work(on, bytes, knobs).copies(1.0 / p).total();
}

Terms reduce_scatter_movement_avoiding_socket(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks(), q = on.ranks_per_socket(), m = on.sockets();
  if (p == 1) return alone(on, bytes);
  return Work(on, bytes, knobs).copies(1.0 / q).reduces((q - 1.0) / q, 2).waits(q).reduces(1.0 / p, m).meets().total();
}

Terms reduce_scatter_dpml_two_level(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks(), q = on.ranks_per_socket(), m = on.sockets();
  if (p == 1) return alone(on, bytes);
  return Work(on, bytes, knobs).copies(1).meets().reduces(1.0 / q, q).waits().reduces(1.0 / p, m).total();
}

Terms reduce_scatter_fused(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  return Work(on, bytes, knobs).meets().reduces(1.0 / p, p).waits().total();
}

// ---- allreduce: a reduce-scatter, and everybody's slice to everybody ----------------------------------------------------

namespace {

Terms spread(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return {};
  return Work(on, bytes, knobs).meets().fetches((p - 1.0) / p, p - 1).total();
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
  return reduce_scatter_rabenseifner(on, bytes, knobs) +
         Work(on, bytes, knobs).fetches(halves(p), log2_up(p)).waits(log2_up(p)).total();
}
Terms allreduce_dpml(const Setting& on, double bytes, const Knobs& knobs) {
  return reduce_scatter_dpml(on, bytes, knobs) + spread(on, bytes, knobs);
}
Terms allreduce_dpml_two_level(const Setting& on, double bytes, const Knobs& knobs) {
  return reduce_scatter_dpml_two_level(on, bytes, knobs) + spread(on, bytes, knobs);
}
Terms allreduce_movement_avoiding(const Setting& on, double bytes, const Knobs& knobs) {
  return reduce_scatter_movement_avoiding(on, bytes, knobs) + spread(on, bytes, knobs);
}
Terms allreduce_movement_avoiding_socket(const Setting& on, double bytes, const Knobs& knobs) {
  return reduce_scatter_movement_avoiding_socket(on, bytes, knobs) + spread(on, bytes, knobs);
}
Terms allreduce_in_order_tree(const Setting& on, double bytes, const Knobs& knobs) {
  return on.ranks() == 1 ? alone(on, bytes) : up_the_in_order_tree(on, bytes, knobs) + spread(on, bytes, knobs);
}
Terms allreduce_fused(const Setting& on, double bytes, const Knobs& knobs) {
  return reduce_scatter_fused(on, bytes, knobs) + spread(on, bytes, knobs);
}

Terms allreduce_shared_address_space(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  // Pairwise sums of a slice, one source at a time, then everybody's slice.
  return Work(on, bytes, knobs).meets().reduces((p - 1.0) / p, 2).waits().total() + spread(on, bytes, knobs);
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
  for (int step = 0; step < int(log2_up(p)); ++step) work.waits().reduces(1, 2);
  return work.total();
}

Terms allreduce_hierarchical(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  // XHC overlaps the two halves: the slower decides, and the other one's first pass comes on top.
  const Terms up = up_the_tree(on, bytes, knobs, false), down = bcast_hierarchical(on, bytes, knobs);
  return up.total_us() > down.total_us() ? up + bcast_hierarchical(on, std::min(bytes, knobs.chunk_bytes), {})
                                         : down + up_the_tree(on, std::min(bytes, knobs.chunk_bytes), {}, false);
}
Terms allreduce_hierarchical_by_index(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  const Terms up = up_the_tree(on, bytes, knobs, true), down = bcast_hierarchical(on, bytes, knobs);
  return up.total_us() > down.total_us() ? up + bcast_hierarchical(on, std::min(bytes, knobs.chunk_bytes), {})
                                         : down + up_the_tree(on, std::min(bytes, knobs.chunk_bytes), {}, true);
}

// ---- reduce -----------------------------------------------------------------------------------------------------------

Terms reduce_flat(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  return flags(on.tiny_gather_us() + on.flag_us(on.far())) + Work(on, bytes, knobs).reduces(1, on.ranks()).total();
}
Terms reduce_fused(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  return Work(on, bytes, knobs).meets().reduces(1.0 / p, p).waits().total() + flags(on.tiny_gather_us());
}
Terms reduce_hierarchical(const Setting& on, double bytes, const Knobs& knobs) {
  return on.ranks() == 1 ? alone(on, bytes) : up_the_tree(on, bytes, knobs, false);
}
Terms reduce_hierarchical_by_index(const Setting& on, double bytes, const Knobs& knobs) {
  return on.ranks() == 1 ? alone(on, bytes) : up_the_tree(on, bytes, knobs, true);
}

namespace {

// The root copies out what the others left in shared slots.
Terms collect(const Setting& on, double bytes) { return flags(on.tiny_gather_us()) + moving(on.memcpy_us(bytes)); }

}  // namespace

Terms reduce_movement_avoiding(const Setting& on, double bytes, const Knobs& knobs) {
  return reduce_scatter_movement_avoiding(on, bytes, knobs) + collect(on, bytes);
}
Terms reduce_movement_avoiding_socket(const Setting& on, double bytes, const Knobs& knobs) {
  return reduce_scatter_movement_avoiding_socket(on, bytes, knobs) + collect(on, bytes);
}
Terms reduce_in_order_tree(const Setting& on, double bytes, const Knobs& knobs) {
  return on.ranks() == 1 ? alone(on, bytes) : up_the_in_order_tree(on, bytes, knobs) + collect(on, bytes);
}
Terms reduce_dpml(const Setting& on, double bytes, const Knobs& knobs) {
  return reduce_scatter_dpml(on, bytes, knobs) + collect(on, bytes);
}

Terms reduce_dpml_two_level(const Setting& on, double bytes, const Knobs& knobs) {
  return reduce_scatter_dpml_two_level(on, bytes, knobs) + collect(on, bytes);
}

Terms reduce_rg(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks(), k = int(std::bit_ceil(unsigned(std::clamp(knobs.k, 1, std::max(p - 1, 1))) + 1)) - 1;
  if (p == 1) return alone(on, bytes);
  // Levels of groups of k + 1: members copy in, the leader combines.
  Terms one = Work(on, bytes, knobs).copies(1).reduces(1, k + 1).waits().total();
  int levels = 0;
  for (long reached = 1; reached < p; reached *= k + 1) ++levels;
  return levels * one;
}
Terms allreduce_rg(const Setting& on, double bytes, const Knobs& knobs) {
  return reduce_rg(on, bytes, knobs) + bcast_shm_pipelined(on, bytes, knobs);
}

// ---- in groups of consecutive ranks (lib/algo/grouped_reduce.cc) -----------------------------------------------------

namespace {

struct AlignedGroups {
  int members, count;
  explicit AlignedGroups(int ranks)
      : members(std::min(ranks, topo::small_group)), count((ranks + topo::small_group - 1) / topo::small_group) {}
};

// Members copy to the first rank of a group, which reduces what it has then.
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
  work.fetches(1, groups.members - 1).sees(groups.members - 1).reduces_own(1.0 / groups.members, groups.members);
  return work.sees(groups.count).reduces(1.0 / p, groups.count + 1).total();
}
// The first rank reduces for each member what those before it have.
Terms scan_grouped(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return alone(on, bytes);
  const AlignedGroups groups(on.ranks());
  Work work = inside_groups(on, bytes, knobs);
  for (int members = 2; members < groups.members; ++members) work.reduces_own(1, members);
  return work.sees(groups.count, on.ranks() - 1).reduces(1, groups.count + 1).total();
}

// ---- scan -------------------------------------------------------------------------------------------------------------

Terms scan_all_read(const Setting& on, double bytes, const Knobs& knobs) {
  return allreduce_all_read(on, bytes, knobs);
}

// In each of log2 p steps a rank combines what it has with the total of the ranks before its block.
Terms scan_sklansky(const Setting& on, double bytes, const Knobs& knobs) {
  return allreduce_recursive_doubling(on, bytes, knobs);
}

Terms scan_fused(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return alone(on, bytes);
  // Of its slice a rank makes every rank's prefix, half of log2 p additions for each; each fetches its own.
  return Work(on, bytes, knobs)
      .meets()
      .reduces(std::max(log2_up(p) / 2, 1.0), 2)
      .meets()
      .fetches((p - 1.0) / p, p - 1)
      .total();
}

}  // namespace coll::model
