// SPDX-License-Identifier: BSD-3-Clause
// The primitives that every formula is made of: one copy from a peer under contention, flags between ranks, local work.
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

// A time, by what it is spent on. Microseconds.
struct Terms {
  double startup_us = 0;   // alpha
  double transfer_us = 0;  // bytes on their way, or being reduced
  double lock_us = 0;      // l gamma(c) per page
  double flags_us = 0;     // waiting for each other
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
inline Terms moving(double us) { return {.transfer_us = us}; }

// Bytes per microsecond.
inline double bytes_per_us(double gbs) { return gbs * 1000; }

// How much memory the two sides of a collective's copies touch again and again, and what moves at once: where a table has
// rates by size, these say which. Bytes.
struct Footprint {
  double source = 0, target = 0;
  double chunk = 0, ring = 0;  // of slots: what moves at once; what their writer has touched when a reader comes
};
// Slots of calls that follow each other lie side by side: a rank comes back to the same lines after so many bytes.
inline constexpr double slots_in_turn_bytes = 1 << 20;
// A writer of slots is as far ahead as they allow: beside them it has touched what it copies.
inline double ring_bytes(double depth, double bytes, double chunk_bytes) {
  return chunk_bytes * (1 + std::min(depth, std::ceil(bytes / chunk_bytes)));
}

// Bytes that pass the busiest link of each kind (Links) while all ranks are at it.
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

// What an owner's data passes on its way to its readers: copies that leave the owner's cache (or memory), its NUMA node,
// its socket. Of the same data one copy goes to each L3.
struct Streams {
  int readers = 0;
  int source = 0, numa = 0, socket = 0;
  auto operator<=>(const Streams&) const = default;
};

// Copies of a broadcast down the hierarchy from rank 0 that take equally long.
struct Hop {
  int level = 0;
  topo::Distance distance = topo::Distance::self;
  bool from_root = false, passes_on = false;
  Streams through;
  auto operator<=>(const Hop&) const = default;
};

// Ranks on a machine, and the mechanism between them. Refers to the table and the hierarchy; immutable, thread-safe.
class Setting {
 public:
  Setting(const Table& table, const topo::Hierarchy& hierarchy, Mechanism mechanism);
  // The same with the table's rates by size, as sim::Routes takes them; without such rates nothing changes.
  Setting touching(const Footprint& footprint) const;
  // The same ranks in small groups.
  Setting in_small_groups(topo::Counted counted) const {
    Setting other = *this;
    other.hierarchy_ = &small_groups(counted);
    other.hops_ = &known_->hops_of_small[size_t(counted)];
    return other;
  }

  // The ranks in small groups (topo::in_small_groups).
  const topo::Hierarchy& small_groups(topo::Counted counted) const { return known_->small_groups[size_t(counted)]; }
  const std::vector<Hop>& hops() const { return *hops_; }

  const Table& table() const { return *table_; }
  const topo::Hierarchy& hierarchy() const { return *hierarchy_; }
  Mechanism mechanism() const { return mechanism_; }
  const Access& access() const { return table_->of(mechanism_); }
  int ranks() const { return hierarchy_->ranks(); }
  topo::Distance far() const { return far_; }                 // the largest distance of any two ranks
  topo::Distance neighbours() const { return neighbours_; }   // the largest of any two consecutive ranks
  int ranks_per_socket() const { return ranks_per_socket_; }  // of the fullest one
  int sockets() const { return sockets_; }

  // ---- copies -----------------------------------------------------------------------------------------------------
  // C(gamma) of CMA II: one of `readers` concurrent copies from one owner, `distance` away. `same_data`: all read the
  // same bytes, so that those who share an L3 fetch them once. The links bound what the formula of the text leaves free.
  Terms copy(double bytes, int readers, topo::Distance distance, bool same_data = false) const;
  Terms copy(double bytes, int readers = 1) const { return copy(bytes, readers, far_); }
  // One of `writers` concurrent copies into the memory of one owner, each from its own.
  Terms write(double bytes, int writers) const;
  // One of many copies of different data that one owner has `source_bytes` of in all.
  Terms copy_part(double bytes, int readers, double source_bytes) const;
  // The same for given readers of one owner, as one at `distance` sees it.
  Terms copy_from(int owner, std::span<const int> readers, topo::Distance distance, double bytes, bool same_data,
                  bool cached) const;
  Terms copy_through(const Streams& streams, topo::Distance distance, double bytes, bool cached) const;
  // From one buffer of a rank to another. work_set: bytes that all ranks touch; beyond the caches all cores share memory.
  double memcpy_us(double bytes, double work_set_bytes = 0) const;
  // Into a slot of shared memory, whose lines a peer has read.
  double stage_us(double bytes, double work_set_bytes = 0) const;
  // Combines `sources` operands of `bytes`, the first one its own, the others from ranks everywhere.
  double reduce_us(double bytes, int sources, double work_set_bytes = 0) const;
  // The same of one's own operand and one of a rank at that distance.
  double add_us(double bytes, topo::Distance distance) const;
  // Startup and time per byte of a copy from a peer, averaged over rank 0's peers.
  double mean_startup_us() const { return mean_startup_us_; }
  double mean_us_per_byte() const { return mean_us_per_byte_; }

  // ---- flags ------------------------------------------------------------------------------------------------------
  double flag_us(topo::Distance distance) const { return table_->flag_ns[distance] / 1000; }
  // One look at a flag that is already there, which is a step.
  double look_us() const { return std::max(table_->look_ns, table_->step_ns) / 1000; }
  double step_us() const { return table_->step_ns / 1000; }
  // How long a line is busy with one of its readers.
  double line_us() const { return table_->line_ns / 1000; }
  // B: one line, read by all others one after another; whoever shares an L3 with one that has it gets it from there.
  double tiny_bcast_us() const { return tiny_bcast_us_; }
  // G: one rank looks at a line of every other.
  double tiny_gather_us() const;
  // AG: every rank looks at a line of every other.
  double tiny_allgather_us() const;

  // ---- links ------------------------------------------------------------------------------------------------------
  // Every rank fetches so many bytes from every other one: from each its own, or the same as all others do, which those
  // who share an L3 fetch once.
  Load exchanged(double bytes) const;
  Load spread(double bytes) const;
  // The same within groups of so many consecutive ranks.
  Load exchanged_within(double bytes, int members) const;
  // Every rank fetches so many bytes from the rank so many before it.
  Load shifted(double bytes, int by) const;
  // Every rank fetches so many bytes from another one at that distance.
  Load crossed(double bytes, topo::Distance distance) const;
  // Of each rank, or of one: what it loads from memory, and stores there.
  Load loaded(double bytes, bool all_ranks) const { return {.memory = bytes * (all_ranks ? in_numa_ : 1)}; }
  Load stored(double bytes, bool all_ranks) const { return loaded(2 * bytes, all_ranks); }
  double us(const Load& load) const;
  // In a step every rank exchanges with the one whose number differs in the bit: the largest distance of two of them, and
  // what passes the busiest links, a byte each.
  topo::Distance exchange_distance(int bit) const { return known_->exchanges[size_t(bit)].distance; }
  Load exchange_load(int bit, double bytes) const { return known_->exchanges[size_t(bit)].load.times(bytes); }

  // The links' bound on the time per byte of concurrent copies from `owner`, whose data lies in its caches or in memory.
  double link_us_per_byte(int owner, std::span<const int> readers, bool same_data, bool cached) const;

 private:
  // Microseconds a byte at one footprint.
  struct Rates {
    double copy = 0, stage = 0, fetch = 0;
    double combine = 0, combine_fetch = 0, store = 0;
    bool known = false;
  };
  struct Exchange {
    topo::Distance distance = topo::Distance::self;
    Load load;
  };
  // Of the ranks and their places alone. Built once, since formulas are asked for many chunks.
  struct Known {
    std::array<topo::Hierarchy, 2> small_groups;  // by what is counted
    std::array<std::vector<Hop>, 2> hops_of_small;
    std::vector<Hop> hops;
    std::vector<Exchange> exchanges;       // by bit
    std::vector<Streams> same, different;  // from rank 0 to so many of its peers, in order
  };
  Exchange exchange_of(int step) const;
  const Streams& to_first(int readers, bool same_data) const {
    return (same_data ? known_->same : known_->different)[size_t(std::clamp(readers, 0, ranks() - 1))];
  }
  double link_us_per_byte(const Streams& streams, bool cached) const;
  // From a peer so far away, whatever it takes there.
  double way_us(topo::Distance distance) const;
  double overlapping(double a, double b) const { return std::max(a, b) + table_->overlap * std::min(a, b); }

  const Table* table_;
  const topo::Hierarchy* hierarchy_;
  Mechanism mechanism_;
  std::shared_ptr<const Known> known_;
  const std::vector<Hop>* hops_ = nullptr;  // of known_
  topo::Distance far_ = topo::Distance::self, neighbours_ = topo::Distance::self;
  int ranks_per_socket_ = 1, sockets_ = 1;
  // Ranks below the fullest L3 and in the fullest NUMA node; L3 caches in all, in such a node and in such a socket, where a
  // rank without a known L3 counts for one.
  int in_l3_ = 1, in_numa_ = 1, l3s_ = 1, l3s_in_numa_ = 1, l3s_in_socket_ = 1;
  double tiny_bcast_us_ = 0, mean_startup_us_ = 0, mean_us_per_byte_ = 0;
  Rates rates_;
};

// The time of a kernel-assisted copy over that of staging, as a communicator's own trial of 256 KiB finds it.
double times_of_staging(const Table& table, const topo::Hierarchy& hierarchy, Mechanism kernel);

// What a rank's own caches hold: its L2 and, in the whole, its L3.
double own_cache_bytes(const Table& table);

}  // namespace coll::model
