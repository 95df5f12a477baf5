// SPDX-License-Identifier: BSD-3-Clause
// The primitives of all formulas: one copy from a peer under contention, flags between ranks, and local work.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <memory>
#include <span>
#include <vector>

#include "model/table.h"
#include "topo/hierarchy.h"

namespace coll::model {

// A time in microseconds, split by its causes.
struct Terms {
  double startup_us = 0;   // alpha
  double transfer_us = 0;  // copying or reducing bytes
  double lock_us = 0;      // l gamma(c) per page
  double flags_us = 0;     // waiting for other ranks
  double total_us() const { return startup_us + transfer_us + lock_us + flags_us; }
  Terms& operator+=(const Terms& other) {
    startup_us += other.startup_us;
    transfer_us += other.transfer_us;
    lock_us += other.lock_us;
    flags_us += other.flags_us;
    return *this;
  }
  friend Terms operator+(Terms a, const Terms& b) { return a += b; }
  friend Terms operator*(double times, const Terms& t) {
    return {times * t.startup_us, times * t.transfer_us, times * t.lock_us, times * t.flags_us};
  }
};
inline Terms flags(double us) { return {.flags_us = us}; }
inline Terms transfer(double us) { return {.transfer_us = us}; }

// Bytes per microsecond.
inline double bytes_per_us(double gbs) { return gbs * 1000; }

// The memory that the source and the target of a collective's copies touch repeatedly, in bytes. It selects the rates
// of a table that has rates by size (Table::caches).
struct Footprint {
  double source = 0, target = 0;
  double from = 0, into = 0;  // the whole buffers that copies of peers read from and write to
  bool huge_pages = false;    // as Call::huge_pages
  double chunk = 0;           // one slot
  double ring = 0;            // what the writer of a ring has touched when a reader loads from it
};
// A writer is ahead of its readers by all slots of the ring. For each slot it has also touched a chunk of the source.
inline double ring_bytes(double depth, double bytes, double chunk_bytes) {
  return chunk_bytes * (1 + std::min(depth, std::ceil(bytes / chunk_bytes)));
}

// Bytes that pass the busiest link of each kind (Links) while all ranks transfer data.
struct Load {
  double l3 = 0, memory = 0, numa = 0, socket = 0;
  Load times(double factor) const { return {factor * l3, factor * memory, factor * numa, factor * socket}; }
  Load& operator+=(const Load& other) {
    l3 += other.l3;
    memory += other.memory;
    numa += other.numa;
    socket += other.socket;
    return *this;
  }
};

// The number of copies of an owner's data that leave its cache (or memory), its NUMA node and its socket. If all
// readers read the same data, each L3 fetches it once.
struct Streams {
  int readers = 0;
  int source = 0, numa = 0, socket = 0;
  auto operator<=>(const Streams&) const = default;
};

// Steps of equal cost, in which some of the other ranks read from rank 0 at the same time.
struct Turn {
  Streams through;
  topo::Distance distance = topo::Distance::self;  // of the farthest reader
  int times = 0;
};

// A class of copies that take equally long, in a broadcast down the hierarchy from rank 0.
struct Hop {
  int level = 0;
  topo::Distance distance = topo::Distance::self;
  bool from_root = false, forwards = false;  // forwards: the reader has readers of its own
  Streams through;
  auto operator<=>(const Hop&) const = default;
};

// A group of a reduction up the hierarchy (algo/nodes.h). It reduces one partial result for each node that it consists of,
// from the inputs or partial results of its members. Equal groups of a level count once.
struct FoldGroup {
  int members = 0;
  topo::Distance distance = topo::Distance::self;  // the largest distance of the leader and a member
  std::vector<int> sources;                        // operands of each partial result, ascending
  auto operator<=>(const FoldGroup&) const = default;
};

// Ranks on a machine that access each other by one mechanism. Refers to the table and the hierarchy. Immutable,
// thread-safe.
class Setting {
 public:
  Setting(const Table& table, const topo::Hierarchy& hierarchy, Mechanism mechanism);
  // Returns a setting that uses the table's rates for this footprint, as sim::Routes does, if the table has rates by
  // size, and the pages of its buffers.
  Setting touching(const Footprint& footprint) const;
  // Returns the setting with the hierarchy of small groups.
  Setting in_small_groups(topo::Counted counted) const {
    Setting other = *this;
    other.hierarchy_ = &small_groups(counted);
    other.hops_ = &known_->hops_of_small[size_t(counted)];
    return other;
  }

  // The hierarchy of small groups (topo::in_small_groups).
  const topo::Hierarchy& small_groups(topo::Counted counted) const { return known_->small_groups[size_t(counted)]; }
  const std::vector<Hop>& hops() const { return *hops_; }
  const std::vector<std::vector<FoldGroup>>& folds() const { return known_->folds; }  // by level, to rank 0

  const Table& table() const { return *table_; }
  const topo::Hierarchy& hierarchy() const { return *hierarchy_; }
  Mechanism mechanism() const { return mechanism_; }
  const Access& access() const { return table_->of(mechanism_); }
  int ranks() const { return hierarchy_->ranks(); }
  topo::Distance farthest() const { return farthest_; }       // the largest distance of any two ranks
  topo::Distance neighbours() const { return neighbours_; }   // the largest distance of two consecutive ranks
  int ranks_per_socket() const { return ranks_per_socket_; }  // of the fullest socket
  int sockets() const { return sockets_; }

  // ---- copies -----------------------------------------------------------------------------------------------------
  // C(gamma) of CMA II: one of `readers` concurrent copies from one owner at `distance`. `same_data`: all readers read
  // the same bytes, so that those on one L3 fetch them once. Unlike the paper's formula it includes the limits of the
  // links.
  Terms copy(double bytes, int readers, topo::Distance distance, bool same_data = false) const;
  Terms copy(double bytes, int readers = 1) const { return copy(bytes, readers, farthest_); }
  // One of `writers` concurrent copies into the memory of one owner, each from the writer's own memory.
  Terms write(double bytes, int writers) const;
  // One of `readers` concurrent copies of different data of one owner, which has `source_bytes` in total.
  Terms copy_part(double bytes, int readers, double source_bytes) const;
  // The same through given streams, for a reader at `distance`.
  Terms copy_through(const Streams& streams, topo::Distance distance, double bytes, bool cached) const;
  // A copy between two buffers of one rank. work_set_bytes: bytes that all ranks touch; if they exceed the caches, all
  // cores share the memory's bandwidth.
  double memcpy_us(double bytes, double work_set_bytes = 0) const;
  // Into a slot of shared memory, whose lines a peer has read.
  // A copy into the rank's own slots.
  double stage_us(double bytes, double work_set_bytes = 0) const;
  // One reduction of `sources` operands of `bytes` each: the rank's own one and operands of arbitrary other ranks.
  double reduce_us(double bytes, int sources, double work_set_bytes = 0) const;
  // A reduction of the rank's own operand and one of a rank at that distance.
  double add_us(double bytes, topo::Distance distance) const;
  // A copy of the rank's own data into a slot of a rank at that distance.
  Terms copy_to(double bytes, topo::Distance distance) const;
  // A reduction of the rank's own operand and slots of ranks at distances `from`, stored in memory at distance `to`.
  Terms combine(double bytes, std::span<const topo::Distance> from, topo::Distance to) const;
  // Startup and time per byte of a copy from a peer, averaged over rank 0's peers.
  double mean_startup_us() const { return mean_startup_us_; }
  double mean_us_per_byte() const { return mean_us_per_byte_; }

  // ---- flags ------------------------------------------------------------------------------------------------------
  double flag_us(topo::Distance distance) const { return table_->flag_ns[distance] / 1000; }
  // A wait whose flag has been posted already: a step.
  double look_us() const { return std::max(table_->look_ns, table_->step_ns) / 1000; }
  double step_us() const { return table_->step_ns / 1000; }
  // The time for which a cache line serves one of its readers.
  double line_us() const { return table_->line_ns / 1000; }
  // B: all other ranks read one line, one after another; a rank on the L3 of an earlier reader fetches it from there.
  double tiny_bcast_us() const { return tiny_bcast_us_; }
  // G: one rank reads a line of every other rank.
  double tiny_gather_us() const;
  // AG: every rank reads a line of every other rank.
  double tiny_allgather_us() const;

  // ---- links ------------------------------------------------------------------------------------------------------
  // Every rank fetches `bytes` from every other rank: different bytes for each reader.
  Load exchanged(double bytes) const;
  // The same bytes for all readers, so that readers on one L3 fetch them once.
  Load spread(double bytes) const;
  // As exchanged(), within groups of `members` consecutive ranks, of which the first `readers` fetch.
  Load exchanged_within(double bytes, int members, int readers) const;
  Load exchanged_within(double bytes, int members) const { return exchanged_within(bytes, members, members); }
  // Every rank fetches `bytes` from the rank whose number is lower by `by`.
  Load shifted(double bytes, int by) const;
  // Every rank fetches `bytes` from a rank at that distance.
  Load crossed(double bytes, topo::Distance distance) const;
  // All ranks, or one rank, load `bytes` each from memory, or store them there (an ordinary store also loads the line).
  Load loaded(double bytes, bool all_ranks) const { return {.memory = bytes * (all_ranks ? in_numa_ : 1)}; }
  Load stored(double bytes, bool all_ranks) const { return loaded(2 * bytes, all_ranks); }
  double us(const Load& load) const;
  // Every rank exchanges data with the rank whose number differs in one bit: the largest distance of such two ranks,
  // and the load if each rank fetches `bytes`.
  topo::Distance exchange_distance(int bit) const { return known_->exchanges[size_t(bit)].distance; }
  Load exchange_load(int bit, double bytes) const { return known_->exchanges[size_t(bit)].load.times(bytes); }
  // For every set bit k of its number, each rank fetches `bytes` from the last rank before its aligned block of 2^k.
  // `totals`: it fetches them twice if all lower bits are set, too, and there are ranks after it.
  Load prefix_load(double bytes, bool totals) const {
    return (totals ? known_->prefixes_and_totals : known_->prefixes).times(bytes);
  }

  // All other ranks read different data from rank 0, `k` consecutive ones at a time. If the last step would have no
  // reader, it counts as one of the last rank.
  std::vector<Turn> turns(int k) const;

  // The streams from rank 0 to ranks 1 to `readers`.
  const Streams& to_first(int readers, bool same_data) const {
    return (same_data ? known_->same : known_->different)[size_t(std::clamp(readers, 0, ranks() - 1))];
  }
  // The minimum time per byte of concurrent copies that the links allow. `cached`: the data is in the owner's caches, not
  // in memory.
  double link_us_per_byte(const Streams& through, bool cached) const;

 private:
  // Microseconds per byte for one footprint.
  struct Rates {
    double copy = 0, stage = 0, fetch = 0;
    double load = 0, store = 0, take = 0;
    double combine = 0, combine_fetch = 0;
    bool known = false;
  };
  struct Exchange {
    topo::Distance distance = topo::Distance::self;
    Load load;
  };
  // Facts that depend on the ranks and their places only. Built once, because formulas are evaluated for many chunks.
  struct Known {
    std::array<topo::Hierarchy, 2> small_groups;  // by topo::Counted
    std::array<std::vector<Hop>, 2> hops_of_small;
    std::vector<Hop> hops;
    std::vector<std::vector<FoldGroup>> folds;
    std::vector<Exchange> exchanges;       // by bit
    Load prefixes, prefixes_and_totals;    // of prefix_load(1, ...)
    std::vector<std::vector<Turn>> turns;  // by log2 k
    std::vector<Streams> same, different;  // [n]: from rank 0 to ranks 1 to n, which read the same or different data
  };
  Exchange exchange_of(int step) const;
  Load prefixes_of_byte(bool totals) const;
  std::vector<Turn> turns_of(int k) const;
  // Time per byte of a copy from a peer at that distance.
  double fetch_us_per_byte(topo::Distance distance) const;
  // How many times as long bytes take at that distance as behind the same L3.
  double farther(topo::Distance distance) const {
    return access().bandwidth_gbs[topo::Distance::l3] / access().bandwidth_gbs[distance];
  }
  double overlapping(double a, double b) const { return std::max(a, b) + table_->overlap * std::min(a, b); }

  const Table* table_;
  const topo::Hierarchy* hierarchy_;
  Mechanism mechanism_;
  std::shared_ptr<const Known> known_;
  const std::vector<Hop>* hops_ = nullptr;  // of known_
  topo::Distance farthest_ = topo::Distance::self, neighbours_ = topo::Distance::self;
  int ranks_per_socket_ = 1, sockets_ = 1;
  // Ranks on the fullest L3 and in the fullest NUMA node; the number of L3 caches of all ranks, of the node and of the
  // socket with most of them. A rank without a known L3 counts as an L3.
  int in_l3_ = 1, in_numa_ = 1, l3s_ = 1, l3s_in_numa_ = 1, l3s_in_socket_ = 1;
  double tiny_bcast_us_ = 0, mean_startup_us_ = 0, mean_us_per_byte_ = 0;
  double source_page_bytes_ = 0, target_page_bytes_ = 0;
  Rates rates_;
};

// The time of a kernel-assisted copy divided by that of staging, for 256 KiB, as a communicator measures it at
// creation.
double times_of_staging(const Table& table, const topo::Hierarchy& hierarchy, Mechanism kernel);

// The bytes of a rank's own caches: its L2 and all of its L3.
double own_cache_bytes(const Table& table);
// Results that exceed this go to memory: a core's L2 and its share of the L3.
double result_cache_bytes(const Table& table);
// Whether copies use non-temporal stores in a call whose buffers, those of all ranks together, have work_set_bytes.
bool streams(const Table& table, double work_set_bytes);

}  // namespace coll::model
