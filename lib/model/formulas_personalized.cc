// SPDX-License-Identifier: BSD-3-Clause
// Scatter, gather, alltoall: every pair of ranks exchanges different data.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "model/formulas.h"
#include "model/outgoing.h"
#include "model/own_copies.h"

namespace coll::model {

namespace {

int steps_of(int p, int k) { return (p + k - 1) / k; }

// The copy of the root's own block, unless it is in place.
double own_block_us(const Setting& on, double bytes, const Knobs& knobs) {
  return knobs.in_place ? 0 : on.memcpy_us(bytes);
}

// The readers of one owner copy a block each, chunk by chunk.
Terms block(const Setting& on, double bytes, int readers, const Knobs& knobs) {
  const Passes passes(bytes, knobs.chunk_bytes);
  const double rest = bytes - (passes.number - 1) * passes.bytes;
  // Slots count as cached.
  const double source = on.mechanism() == Mechanism::shared_memory ? 0 : bytes * on.ranks();
  return (passes.number - 1) * on.copy_part(passes.bytes, readers, source) + on.copy_part(rest, readers, source);
}

// Writers copy a block each to one owner, chunk by chunk, from their own memory: they share the owner's locks and
// links.
Terms block_written(const Setting& on, double bytes, int writers, const Knobs& knobs) {
  const Passes passes(bytes, knobs.chunk_bytes);
  const double rest = bytes - (passes.number - 1) * passes.bytes;
  const auto chunk = [&](double length) { return from_own_memory(on, length, on.write(length, writers)); };
  return (passes.number - 1) * chunk(passes.bytes) + chunk(rest);
}

Terms all_at_once(const Setting& on, double bytes, const Knobs& knobs, bool writes = false) {
  const int peers = on.ranks() - 1;
  // A root that stages ends before its readers do.
  const bool awaited = writes || on.mechanism() != Mechanism::shared_memory;
  return flags(on.tiny_bcast_us() + (awaited ? on.tiny_gather_us() : 0)) +
         (writes ? block_written(on, bytes, peers, knobs) : block(on, bytes, peers, knobs));
}

Terms in_turn(const Setting& on, double bytes, const Knobs& knobs, const Terms& chunks) {
  return transfer(own_block_us(on, bytes, knobs)) + flags(on.tiny_gather_us() + on.tiny_bcast_us()) +
         Passes(bytes, knobs.chunk_bytes).number * chunks;
}

// Unlike the paper's formula it includes that each step begins with a flag of the previous step, and that the root
// waits for the last k ranks.
Terms throttled(const Setting& on, double bytes, const Knobs& knobs, bool writes = false) {
  const int k = std::clamp(knobs.k, 1, on.ranks()), steps = steps_of(on.ranks(), k);
  const int last = std::min(k, on.ranks() - 1);
  const Terms all = flags(on.tiny_bcast_us() + steps * on.flag_us(on.farthest()) + (last - 1) * on.look_us());
  if (writes) return all + steps * block_written(on, bytes, k, knobs);
  // Ranks that read at the same time have consecutive numbers, so that some steps cross more links than others.
  const Passes passes(bytes, knobs.chunk_bytes);
  const bool cached = bytes * on.ranks() <= own_cache_bytes(on.table());
  const double lock_us = on.copy(passes.bytes, k).lock_us;
  Terms sum = all;
  for (const Turn& turn : on.turns(k)) {
    Terms step = on.copy_through(turn.through, turn.distance, passes.bytes, cached);
    step.lock_us = lock_us;  // as in the paper, all steps count as full
    sum += passes.number * turn.times * step;
  }
  return sum;
}

// Leaders copy the blocks of all ranks of their groups, level by level, chunk by chunk.
Terms by_leaders(const Setting& on, double bytes, const Knobs& knobs, bool writes) {
  if (on.ranks() == 1) return {};
  const Passes passes(bytes, knobs.chunk_bytes);
  const topo::Tree tree = on.hierarchy().tree_for_root(0);
  Terms sum, slowest;
  for (int level = 0; level < tree.levels(); ++level) {
    int members = 1, below = 1;  // ranks of the largest group, and the most ranks that one of its members leads
    for (int index = 0; index < tree.groups(level); ++index) {
      members = std::max(members, int(tree.group(level, index).members.size()));
      const int ranks = int(on.hierarchy().ranks_of(level, index).size());
      below = std::max(below, ranks / std::max(int(tree.group(level, index).members.size()), 1));
    }
    if (members < 2) continue;
    Terms stage = writes ? on.write(passes.bytes * below, members - 1) : on.copy(passes.bytes * below, members - 1);
    stage.startup_us *= below;  // a copy for each block
    // While the leader reads its first block, the block's owner serves its own group.
    if (below > 1) stage.lock_us += (writes ? on.write(passes.bytes, below) : on.copy(passes.bytes, below)).lock_us;
    stage += flags(2 * (on.flag_us(on.farthest()) + (members - 2) * on.look_us()));
    sum += stage;
    if (stage.total_us() > slowest.total_us()) slowest = stage;
  }
  return sum + (passes.number - 1) * slowest;
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
    if (last < copied.size()) sum += flags(on.flag_us(on.farthest()));
  }
  return sum;
}

}  // namespace

Terms scatter_parallel_read(const Setting& on, double bytes, const Knobs& knobs) {
  return all_at_once(on, bytes, knobs);
}
Terms gather_parallel_write(const Setting& on, double bytes, const Knobs& knobs) {
  return all_at_once(on, bytes, knobs, true);
}
Terms scatter_sequential_write(const Setting& on, double bytes, const Knobs& knobs) {
  return in_turn(on, bytes, knobs, to_peers(on, Passes(bytes, knobs.chunk_bytes).bytes, on.ranks() - 1));
}
Terms gather_sequential_read(const Setting& on, double bytes, const Knobs& knobs) {
  return in_turn(on, bytes, knobs, from_peers(on, Passes(bytes, knobs.chunk_bytes).bytes, on.ranks() - 1));
}
Terms scatter_throttled_read(const Setting& on, double bytes, const Knobs& knobs) {
  return throttled(on, bytes, knobs);
}
Terms gather_throttled_write(const Setting& on, double bytes, const Knobs& knobs) {
  return throttled(on, bytes, knobs, true);
}
Terms scatter_hierarchical(const Setting& on, double bytes, const Knobs& knobs) {
  return by_leaders(on, bytes, knobs, false);
}
Terms gather_hierarchical(const Setting& on, double bytes, const Knobs& knobs) {
  return by_leaders(on, bytes, knobs, true);
}
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

// Each chunk of a block is one copy. Staging, which prices.cc adds, is a second one.
Terms alltoall_rotated(const Setting& on, double bytes, const Knobs& knobs) {
  const Passes passes(bytes, knobs.chunk_bytes);
  const int peers = on.ranks() - 1;
  const double looks_us = (passes.number - 1) * peers * on.look_us();
  return transfer(own_block_us(on, bytes, knobs)) + flags(on.tiny_allgather_us() + looks_us) +
         passes.number * from_peers(on, passes.bytes, peers);
}

Terms alltoall_pairwise(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  Terms sum = alltoall_rotated(on, bytes, knobs);
  if (!std::has_single_bit(unsigned(p))) return sum;  // the order of rotated
  // In each step all ranks read from the same distance, so that either all of them cross the links or none does.
  double steps_us = 0;
  for (int step = 1; step < p; ++step) {
    const topo::Distance distance = on.hierarchy().distance(0, step);
    steps_us += std::max(on.copy(bytes, 1, distance).transfer_us, on.us(on.crossed(bytes, distance)));
  }
  sum.transfer_us = std::max(sum.transfer_us, steps_us);
  return sum;
}

// In the step of 2^k, each rank waits for the rank that far below it, and copies from it the blocks whose bit k is set,
// one by one. Ranks that are near their sources continue earlier, so that a slow step delays only those behind it. Later
// chunks follow at the interval of the busiest rank or link.
Terms alltoall_bruck(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return transfer(own_block_us(on, bytes, knobs));
  const Passes passes(bytes, knobs.chunk_bytes);
  // First each rank sorts its blocks in the order of the steps.
  const Terms sort = transfer(on.memcpy_us(passes.bytes * p)) + flags(p * on.step_us());
  std::vector<Terms> end(size_t(p), sort), work(size_t(p), sort);
  Outgoing all(on.hierarchy());
  for (int by = 1; by < p; by *= 2) {
    int blocks = 0;
    for (int i = 1; i < p; ++i) blocks += (i & by) != 0;
    const auto source = [&](int rank) { return (rank - by + p) % p; };
    Outgoing outgoing(on.hierarchy());
    for (int rank = 0; rank < p; ++rank) {
      outgoing.add(source(rank), rank, blocks * passes.bytes);
      all.add(source(rank), rank, blocks * passes.bytes);
    }
    const std::vector<Terms> before = end;
    for (int rank = 0; rank < p; ++rank) {
      const topo::Distance distance = on.hierarchy().distance(source(rank), rank);
      const Terms ready = before[size_t(source(rank))] + flags(on.flag_us(distance));
      Terms& own = end[size_t(rank)];
      if (ready.total_us() > own.total_us()) own = ready;
      Terms copies = on.copy(blocks * passes.bytes, 1, distance) + flags(blocks * on.step_us());
      copies.startup_us *= blocks;
      work[size_t(rank)] += copies + flags(on.look_us());
      copies.transfer_us = std::max(copies.transfer_us, on.us(outgoing.between(source(rank), rank)));
      own += copies;
    }
  }
  Terms interval = *std::ranges::max_element(work, {}, &Terms::total_us);
  interval.transfer_us += std::max(on.us(all.most()) - interval.total_us(), 0.0);
  return *std::ranges::max_element(end, {}, &Terms::total_us) + (passes.number - 1) * interval;
}

}  // namespace coll::model
