// SPDX-License-Identifier: BSD-3-Clause
// Bcast, allgather, barrier: all ranks receive the same data.
#include <algorithm>
#include <cmath>
#include <vector>

#include "model/formulas.h"
#include "model/own_copies.h"
#include "model/work.h"

namespace coll::model {

namespace {

// The formula for the ranks' small groups.
Terms in_small_groups(Formula formula, topo::Counted counted, const Setting& on, double bytes, const Knobs& knobs) {
  return formula(on.in_small_groups(counted), bytes, knobs);
}

}  // namespace

// ---- bcast ----------------------------------------------------------------------------------------------------------

Terms bcast_direct_read(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return {};
  const Passes passes(bytes, knobs.chunk_bytes);
  // A root that stages ends before its readers do.
  const double end_us = on.mechanism() == Mechanism::shared_memory ? 0 : on.tiny_gather_us();
  return flags(on.tiny_bcast_us() + end_us) +
         passes.number * on.copy(passes.bytes, on.ranks() - 1, on.farthest(), true);
}

Terms bcast_direct_write(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return {};
  const Passes passes(bytes, knobs.chunk_bytes);
  return flags(on.tiny_gather_us() + on.tiny_bcast_us()) + passes.number * to_peers(on, passes.bytes, on.ranks() - 1);
}

// In each iteration the readers copy (p-1)/p of the chunk, while the root writes the last p-th to one rank after the
// other. If both are staged, the root first stages what the others read, and they copy the last p-th out of their slots.
Terms bcast_push_pull(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return {};
  const Passes passes(bytes, knobs.chunk_bytes);
  // Slices are whole cache lines, so the last one is shorter, and a short vector has none.
  const double last = std::max(passes.bytes - std::ceil(passes.bytes / p / 64) * 64 * (p - 1), 0.0);
  const double others = passes.bytes - last;
  const bool staged = on.mechanism() == Mechanism::shared_memory;
  const Terms stage = transfer(staged ? on.stage_us(others) : 0), out = transfer(staged ? on.memcpy_us(last) : 0);
  const Terms read = on.copy(others, p - 1, on.farthest(), true);
  const Terms written =
      (last > 0 ? to_peers(on, last, p - 1) : Terms()) + flags((p - 1) * (on.look_us() + on.step_us()));
  const auto slower = [](const Terms& a, const Terms& b) { return a.total_us() > b.total_us() ? a : b; };
  // Flags: where the data is, that the targets are free, and that they are written.
  return flags(2 * on.tiny_bcast_us() + on.tiny_gather_us()) + stage + slower(read, written) + out +
         (passes.number - 1) * slower(read + out, stage + written);
}

namespace {

// The streams of one round, in which ranks read at the same time, out of the busiest L3, NUMA node and socket.
class Round {
 public:
  explicit Round(const Setting& on) : on_(on) {}
  void reads(int holder, int reader) {
    const topo::Place &from = on_.hierarchy().place(holder), &to = on_.hierarchy().place(reader);
    const topo::Distance distance = on_.hierarchy().distance(holder, reader);
    farthest_ = std::max(farthest_, distance);
    // Consecutive readers on one L3 share a fetch.
    if (to.l3 >= 0 && (to.l3 == from.l3 || (to.l3 == last_l3_ && holder == last_holder_))) return;
    last_l3_ = to.l3, last_holder_ = holder;
    const auto count = [](std::vector<int>& of, int index, double& most) {
      const size_t at = size_t(std::max(index, 0));
      if (of.size() <= at) of.resize(at + 1);
      most = std::max(most, double(++of[at]));
    };
    count(l3_, from.l3 >= 0 ? from.l3 : from.numa, streams_.l3);
    if (distance >= topo::Distance::socket) count(numa_, from.numa, streams_.numa);
    if (distance >= topo::Distance::node) count(socket_, from.package, streams_.socket);
  }
  topo::Distance farthest() const { return farthest_; }
  // The time that the links need if each stream has `bytes`. `cached`: the data is in the holder's caches, not in
  // memory.
  double links_us(double bytes, bool cached) const {
    Load load{.l3 = bytes * streams_.l3, .numa = bytes * streams_.numa, .socket = bytes * streams_.socket};
    if (!cached) std::swap(load.l3, load.memory);
    return on_.us(load);
  }

 private:
  const Setting& on_;
  std::vector<int> l3_, numa_, socket_;
  Load streams_;
  topo::Distance farthest_ = topo::Distance::self;
  int last_l3_ = -1, last_holder_ = -1;
};

}  // namespace

// In each round every rank that has the data serves k ranks, the farthest ones first. A rank that forwards data through
// slots stores it twice.
Terms bcast_knomial(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return {};
  const int k = std::clamp(knobs.k, 1, p - 1);
  long stride = 1;
  while (stride * (k + 1) < p) stride *= k + 1;
  const Passes passes(bytes, knobs.chunk_bytes);
  const bool through_slots = on.mechanism() == Mechanism::shared_memory;
  Terms sum = flags(on.tiny_bcast_us());
  for (bool first = true; stride >= 1; stride /= k + 1, first = false) {
    Round round(on);
    int most = 0;
    for (long holder = 0; holder < p; holder += stride * (k + 1)) {
      int readers = 0;
      for (long reader = holder + stride; readers < k && reader < p; reader += stride, ++readers)
        round.reads(int(holder), int(reader));
      most = std::max(most, readers);
    }
    Terms one = on.copy(passes.bytes, 1, round.farthest());
    one.lock_us = on.copy(passes.bytes, most, round.farthest(), true).lock_us;
    const bool cached = !first || bytes <= own_cache_bytes(on.table());
    const double again_us = through_slots && stride > 1 ? on.stage_us(passes.bytes) / 2 : 0;
    one.transfer_us = std::max(one.transfer_us + again_us, round.links_us(passes.bytes, cached) - one.lock_us);
    sum += passes.number * one;
    // Each round ends with flags to the holder, and the next one begins with a flag from it.
    if (stride > 1) sum += flags(2 * on.flag_us(round.farthest()) + (most - 1) * on.look_us());
  }
  return sum;
}

namespace {

Terms scatter_allgather(const Setting& on, double bytes, const Knobs& knobs, Formula allgather) {
  if (on.ranks() == 1) return {};
  const Passes passes(bytes, knobs.chunk_bytes);
  const double part = passes.bytes / on.ranks();
  const Terms pass = scatter_throttled_read(on, part, {.k = knobs.k}) + allgather(on, part, {});
  return flags(on.tiny_allgather_us()) + passes.number * pass;
}

}  // namespace

Terms bcast_scatter_allgather(const Setting& on, double bytes, const Knobs& knobs) {
  return scatter_allgather(on, bytes, knobs, allgather_ring_source_read);
}
Terms bcast_scatter_allgather_ring(const Setting& on, double bytes, const Knobs& knobs) {
  return scatter_allgather(on, bytes, knobs, allgather_ring_neighbor);
}
Terms bcast_scatter_allgather_doubling(const Setting& on, double bytes, const Knobs& knobs) {
  return scatter_allgather(on, bytes, knobs, allgather_recursive_doubling);
}

Terms bcast_hierarchical(const Setting& on, double bytes, const Knobs& knobs) {
  if (on.ranks() == 1) return {};
  const Passes passes(bytes, knobs.chunk_bytes);
  // The time of one iteration on each level: its slowest copy.
  std::vector<Terms> stages(size_t(on.hierarchy().levels()));
  for (const Hop& hop : on.hops()) {
    const bool cached = !hop.from_root || bytes <= own_cache_bytes(on.table());
    Terms stage = on.copy_through(hop.through, hop.distance, passes.bytes, cached) + flags(on.flag_us(hop.distance));
    // A rank that forwards data through slots stores it twice.
    if (on.mechanism() == Mechanism::shared_memory && hop.forwards)
      stage.transfer_us = std::max(stage.transfer_us,
                                   on.copy(passes.bytes, 1, hop.distance).transfer_us + on.stage_us(passes.bytes) / 2);
    Terms& slowest = stages[size_t(hop.level)];
    if (stage.total_us() > slowest.total_us()) slowest = stage;
  }
  Terms sum, slowest;
  for (const Terms& stage : stages) {
    sum += stage;
    if (stage.total_us() > slowest.total_us()) slowest = stage;
  }
  // In later iterations the flag has been posted before the wait.
  slowest.flags_us = on.look_us();
  return sum + (passes.number - 1) * slowest + flags(on.flag_us(on.farthest()));
}

Terms bcast_grouped(const Setting& on, double bytes, const Knobs& knobs) {
  return in_small_groups(bcast_hierarchical, topo::Counted::l3s, on, bytes, knobs);
}

Terms bcast_shm_pipelined(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  if (p == 1) return {};
  const Passes passes(bytes, knobs.chunk_bytes);
  // YHCCL Alg. 3: the root copies into the slots while the other ranks copy out of them.
  const double work_set = bytes * p + 2 * passes.bytes;
  const Terms in = transfer(on.stage_us(passes.bytes, work_set));
  const Terms read = on.copy(passes.bytes, p - 1, on.farthest(), true);
  const Terms& slower = in.total_us() > read.total_us() ? in : read;
  return in + flags(on.tiny_bcast_us()) + read + (passes.number - 1) * (slower + flags(on.look_us()));
}

// ---- allgather ------------------------------------------------------------------------------------------------------

namespace {

Terms around(const Setting& on, double bytes, const Knobs& knobs) {
  return transfer(knobs.in_place ? 0 : on.memcpy_us(bytes)) + flags(on.tiny_allgather_us());
}

Terms ring_from_sources(const Setting& on, double bytes, const Knobs& knobs) {
  const Passes passes(bytes, knobs.chunk_bytes);
  const int peers = on.ranks() - 1;
  return around(on, bytes, knobs) + passes.number * from_peers(on, passes.bytes, peers) +
         flags((passes.number - 1) * peers * on.look_us());
}

}  // namespace

Terms allgather_ring_neighbor(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks(), j = std::max(knobs.k, 1);
  topo::Distance distance = topo::Distance::self;
  for (int rank = 0; rank < p; ++rank)
    distance = std::max(distance, on.hierarchy().distance(rank, ((rank - j) % p + p) % p));
  // All ranks wait for the slowest neighbour, and each step waits for its flag. With staging a rank also copies all but
  // the last block to its slots.
  const double again_us = on.mechanism() == Mechanism::shared_memory ? on.stage_us(bytes) : 0;
  return around(on, bytes, knobs) +
         (p - 1) * (on.copy(bytes, 1, distance) + flags(on.flag_us(distance)) + transfer(again_us));
}

Terms allgather_ring_source_read(const Setting& on, double bytes, const Knobs& knobs) {
  return ring_from_sources(on, bytes, knobs);
}
Terms allgather_ring_source_write(const Setting& on, double bytes, const Knobs& knobs) {
  return ring_from_sources(on, bytes, knobs);
}

// Adds ceil(lg p) steps. In each one a rank doubles its number of blocks (the last step adds the missing ones): one
// copy per block, and with staging a second one of each block that it forwards.
void add_doublings(Terms& sum, const Setting& on, double bytes) {
  const int p = on.ranks(), steps = int(log2_up(p));
  int have = 1;
  for (int step = 0; step < steps; ++step, have *= 2) {
    const int blocks = std::min(have, p - have);
    const topo::Distance distance = on.hierarchy().distance(0, have);
    Terms one = on.copy(bytes * blocks, 1, distance);
    one.startup_us *= blocks;
    one.transfer_us = std::max(one.transfer_us, on.us(on.shifted(bytes * blocks, have)) - one.lock_us);
    sum += one + flags(on.flag_us(distance));
    if (step + 1 < steps && on.mechanism() == Mechanism::shared_memory)
      sum += transfer(on.stage_us(bytes * blocks) + blocks * on.step_us());
  }
}

Terms allgather_recursive_doubling(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  const Passes passes(bytes, knobs.chunk_bytes);
  Terms sum;
  add_doublings(sum, on, passes.bytes);
  // If p is not a power of two, the remaining ranks fetch the result of the others in one more step.
  const int below = 1 << int(std::log2(std::max(p, 1)));
  if (below != p) {
    Terms last = on.copy(passes.bytes * below) + flags(on.flag_us(on.farthest()));
    last.startup_us *= below;
    sum += last;
    if (on.mechanism() == Mechanism::shared_memory) sum += transfer(on.stage_us(passes.bytes * below / 2));
  }
  return around(on, bytes, knobs) + passes.number * sum;
}

Terms allgather_bruck(const Setting& on, double bytes, const Knobs& knobs) {
  const Passes passes(bytes, knobs.chunk_bytes);
  Terms sum;
  add_doublings(sum, on, passes.bytes);
  return around(on, bytes, knobs) + passes.number * sum;
}

// The root gathers all blocks, then all ranks copy them.
Terms allgather_gather_bcast(const Setting& on, double bytes, const Knobs& knobs) {
  const double all = bytes * on.ranks();
  const Terms copies = {.startup_us = std::max(on.ranks() - 2, 0) * on.mean_startup_us()};  // one per block
  Terms up = gather_parallel_write(on, bytes, knobs), down = bcast_direct_read(on, all, {});
  if (all > own_cache_bytes(on.table())) {
    constexpr double streamed = 0.5;  // the traffic of non-temporal stores over that of ordinary ones
    up.transfer_us = std::max(up.transfer_us, on.us(on.stored(streamed * all, false)));
    down.transfer_us = std::max(down.transfer_us, on.us(on.stored(streamed * all, true)));
  }
  return up + down + copies;
}

Terms allgather_hierarchical(const Setting& on, double bytes, const Knobs& knobs) {
  return gather_hierarchical(on, bytes, {}) + bcast_hierarchical(on, bytes * on.ranks(), knobs);
}

Terms allgather_shm_pipelined(const Setting& on, double bytes, const Knobs& knobs) {
  const int p = on.ranks();
  const Passes passes(bytes, knobs.chunk_bytes);
  const double work_set = bytes * p + bytes * p * p + 2 * p * passes.bytes;
  const double in = inputs_us(on, on.stage_us(passes.bytes, work_set), passes.bytes, bytes);
  const double out = on.memcpy_us(passes.bytes, work_set) + (p - 1) * passes.bytes * on.mean_us_per_byte();
  const Terms pass =
      transfer(in + out) + Terms{.startup_us = (p - 1) * on.mean_startup_us()} + flags(on.tiny_allgather_us());
  return passes.number * pass;
}

Terms allgatherv(const Setting& on, std::span<const double> counts) {
  Terms sum = around(on, 0, {});
  double all = 0, largest = 0;
  for (double count : counts) all += count, largest = std::max(largest, count);
  for (int peer = 1; peer < on.ranks(); ++peer) {
    Terms one = on.copy(largest);
    one.startup_us = on.mean_startup_us();
    one.transfer_us = 0;
    sum += one;
  }
  // No step waits for another: every rank copies all bytes, whatever their distribution.
  return sum + transfer(all * on.mean_us_per_byte());
}

// ---- barrier --------------------------------------------------------------------------------------------------------

Terms barrier_flat(const Setting& on, double, const Knobs&) {
  return on.ranks() == 1 ? Terms() : flags(on.tiny_gather_us() + on.tiny_bcast_us());
}

// Exact: the time at which each rank ends each step.
Terms barrier_dissemination(const Setting& on, double, const Knobs&) {
  const int p = on.ranks();
  std::vector<double> now(size_t(p), 0.0), next(size_t(p), 0.0);
  for (int step = 1; step < p; step *= 2) {
    for (int rank = 0; rank < p; ++rank) {
      const int from = (rank + p - step) % p;
      next[size_t(rank)] = std::max(now[size_t(rank)] + on.look_us(),
                                    now[size_t(from)] + on.flag_us(on.hierarchy().distance(from, rank)));
    }
    std::swap(now, next);
  }
  return flags(*std::ranges::max_element(now));
}

Terms barrier_hierarchical(const Setting& on, double, const Knobs&) {
  if (on.ranks() == 1) return {};
  const topo::Tree tree = on.hierarchy().tree_for_root(0);
  double us = 0;
  for (int level = 0; level < tree.levels(); ++level) {
    double slowest = 0;
    for (int index = 0; index < tree.groups(level); ++index) {
      const topo::Group group = tree.group(level, index);
      topo::Distance distance = topo::Distance::self;
      for (int member : group.members) distance = std::max(distance, on.hierarchy().distance(group.leader(), member));
      const int others = int(group.members.size()) - 1;
      if (others > 0) slowest = std::max(slowest, 2 * (on.flag_us(distance) + (others - 1) * on.look_us()));
    }
    us += slowest;
  }
  return flags(us);
}

Terms barrier_grouped(const Setting& on, double bytes, const Knobs& knobs) {
  return in_small_groups(barrier_hierarchical, topo::Counted::ranks, on, bytes, knobs);
}

}  // namespace coll::model
