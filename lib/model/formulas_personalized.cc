// SPDX-License-Identifier: BSD-3-Clause
// Scatter, gather, alltoall: every pair has data of its own.
#include <algorithm>
#include <cmath>
#include <vector>

#include "model/formulas.h"

namespace coll::model {

namespace {

int steps_of(int p, int k) { return (p + k - 1) / k; }
int log2_up(int p) { return int(std::ceil(std::log2(std::max(p, 1)))); }

// The root's own block, where it must be moved.
double own_block_us(const Setting& on, double bytes, const Knobs& knobs) {
  return knobs.in_place ? 0 : on.memcpy_us(bytes);
}

// One block, in as many copies as it has chunks.
Terms block(const Setting& on, double bytes, int readers, const Knobs& knobs) {
  const Passes passes(bytes, knobs.chunk_bytes);
  const double rest = bytes - (passes.number - 1) * passes.bytes;
  return (passes.number - 1) * on.copy(passes.bytes, readers) + on.copy(rest, readers);
}

Terms all_at_once(const Setting& on, double bytes, const Knobs& knobs) {
  return flags(on.tiny_bcast_us() + on.tiny_gather_us()) + block(on, bytes, on.ranks() - 1, knobs);
}

Terms in_turn(const Setting& on, double bytes, const Knobs& knobs) {
  return moving(own_block_us(on, bytes, knobs)) + flags(on.tiny_gather_us() + on.tiny_bcast_us()) +
         (on.ranks() - 1) * block(on, bytes, 1, knobs);
}

// The text neglects that each step begins with a flag of the one before, and that the root awaits the last k; here it is
// counted.
Terms throttled(const Setting& on, double bytes, const Knobs& knobs) {
  const int k = std::clamp(knobs.k, 1, on.ranks()), steps = steps_of(on.ranks(), k);
  const int last = std::min(k, on.ranks() - 1);
  return flags(on.tiny_bcast_us() + steps * on.flag_us(on.far()) + (last - 1) * on.look_us()) +
         steps * block(on, bytes, k, knobs);
}

// Leaders move the blocks of all below them, level by level.
Terms by_leaders(const Setting& on, double bytes) {
  if (on.ranks() == 1) return {};
  const topo::Tree tree = on.hierarchy().tree_for_root(0);
  Terms sum;
  for (int level = 0; level < tree.levels(); ++level) {
    int members = 1, below = 1;  // of the largest group, and of the largest group of one of its members
    for (int index = 0; index < tree.groups(level); ++index) {
      members = std::max(members, int(tree.group(level, index).members.size()));
      const int ranks = int(on.hierarchy().ranks_of(level, index).size());
      below = std::max(below, ranks / std::max(int(tree.group(level, index).members.size()), 1));
    }
    if (members > 1)
      sum += on.copy(bytes * below, members - 1) + flags(2 * (on.flag_us(on.far()) + (members - 2) * on.look_us()));
  }
  return sum;
}

Terms varying(const Setting& on, std::span<const double> counts, int root, int k) {
  std::vector<double> copied;
  for (size_t rank = 0; rank < counts.size(); ++rank)
    if (int(rank) != root && counts[rank] > 0) copied.push_back(counts[rank]);
  Terms sum = flags(on.tiny_bcast_us() + on.tiny_gather_us());
  const size_t together = size_t(std::clamp(k, 1, on.ranks()));
  for (size_t first = 0; first < copied.size(); first += together) {
    const size_t last = std::min(first + together, copied.size());
    sum += on.copy(*std::max_element(copied.begin() + long(first), copied.begin() + long(last)), int(last - first));
    if (last < copied.size()) sum += flags(on.flag_us(on.far()));
  }
  return sum;
}

}  // namespace

Terms scatter_parallel_read(const Setting& on, double bytes, const Knobs& knobs) {
  return all_at_once(on, bytes, knobs);
}
Terms gather_parallel_write(const Setting& on, double bytes, const Knobs& knobs) {
  return all_at_once(on, bytes, knobs);
}
Terms scatter_sequential_write(const Setting& on, double bytes, const Knobs& knobs) {
  return in_turn(on, bytes, knobs);
}
Terms gather_sequential_read(const Setting& on, double bytes, const Knobs& knobs) { return in_turn(on, bytes, knobs); }
Terms scatter_throttled_read(const Setting& on, double bytes, const Knobs& knobs) {
  return throttled(on, bytes, knobs);
}
Terms gather_throttled_write(const Setting& on, double bytes, const Knobs& knobs) {
  return throttled(on, bytes, knobs);
}
Terms scatter_hierarchical(const Setting& on, double bytes, const Knobs&) { return by_leaders(on, bytes); }
Terms gather_hierarchical(const Setting& on, double bytes, const Knobs&) { return by_leaders(on, bytes); }
Terms scatterv(const Setting& on, std::span<const double> counts, int root, int k) {
  return varying(on, counts, root, k);
}
Terms gatherv(const Setting& on, std::span<const double> counts, int root, int k) {
  return varying(on, counts, root, k);
}

Terms two_level(const Terms& within, const Network& network, int nodes, double node_bytes) {
  const int others = std::max(nodes - 1, 0);
  return within + Terms{.startup_us = others * network.startup_us,
                        .transfer_us = others * node_bytes / bytes_per_us(network.bandwidth_gbs)};
}

Terms from_peers(const Setting& on, double bytes, int peers) {
  Terms one = on.copy(bytes);
  one.startup_us = on.mean_startup_us();
  one.transfer_us = bytes * on.mean_us_per_byte();
  return peers * one;
}

Terms alltoall_pairwise(const Setting& on, double bytes, const Knobs& knobs) {
  return moving(own_block_us(on, bytes, knobs)) + flags(on.tiny_allgather_us()) + from_peers(on, bytes, on.ranks() - 1);
}

Terms alltoall_rotated(const Setting& on, double bytes, const Knobs& knobs) {
  return alltoall_pairwise(on, bytes, knobs);
}

Terms alltoall_bruck(const Setting& on, double bytes, const Knobs&) {
  const int p = on.ranks(), steps = log2_up(p);
  const double half = bytes * (p / 2);
  // Blocks are brought into the order of the steps first.
  const double local = p > 1 ? on.memcpy_us(bytes * p) : 0;
  return flags(on.tiny_allgather_us() + steps * on.flag_us(on.far())) + steps * on.copy(half) + moving(local);
}

}  // namespace coll::model
