// SPDX-License-Identifier: BSD-3-Clause
// The building blocks of formulas, most of them for reductions and scans.
#pragma once

#include <algorithm>
#include <cmath>

#include "model/formulas.h"

namespace coll::model {

// All ranks copy `bytes` of their inputs, of `all_bytes` per rank, into slots, which takes each own_us by itself. Long
// inputs come from memory.
inline double inputs_us(const Setting& on, double own_us, double bytes, double all_bytes) {
  return all_bytes <= own_cache_bytes(on.table()) ? own_us : std::max(own_us, on.us(on.loaded(bytes, true)));
}

// The work of a rank in one iteration (pass), which all ranks do at the same time. Sizes are in vectors of one
// iteration.
class Work {
 public:
  Work(const Setting& on, double bytes, const Knobs& knobs)
      : on_(on), passes_(bytes, knobs.chunk_bytes), work_set_(2 * bytes * on.ranks()) {}
  // For a reduce-scatter: a slice is a block, of any length. Other slices are whole cache lines.
  Work& of_blocks() {
    line_bytes_ = 1;
    return *this;
  }
  // A copy within the rank's own memory.
  Work& copies(double vectors) { return add(transfer(on_.memcpy_us(vectors * passes_.bytes, work_set_))); }
  // All ranks copy a part of their inputs into slots.
  Work& copies_in(double vectors) {
    const double bytes = vectors * passes_.bytes;
    return add(transfer(inputs_us(on_, on_.memcpy_us(bytes, work_set_), bytes, passes_.bytes * passes_.number)));
  }
  // All ranks store a result. Long results that come from slots go to memory, and an ordinary store loads the line
  // first.
  Work& copies_results_out() {
    const double own_us = on_.memcpy_us(passes_.bytes, work_set_);
    const bool is_long = passes_.bytes * passes_.number > result_cache_bytes(on_.table());
    if (on_.mechanism() != Mechanism::shared_memory || !is_long) return add(transfer(own_us));
    return add(transfer(std::max(own_us, on_.us(on_.stored(passes_.bytes, true)))));
  }
  // Fetches `vectors` from peers, in `calls` copies.
  Work& fetches(double vectors, double calls) {
    Terms one = on_.copy(vectors * passes_.bytes / std::max(calls, 1.0), 1);
    one.startup_us = on_.mean_startup_us();
    one.transfer_us = vectors * passes_.bytes * on_.mean_us_per_byte() / std::max(calls, 1.0);
    return add(calls * one);
  }
  // One reduction of `sources` operands, `vectors` long each.
  Work& reduces(double vectors, int sources) {
    add(transfer(on_.reduce_us(vectors * passes_.bytes, sources, work_set_)));
    return add({.startup_us = (sources - 1) * on_.mean_startup_us()});
  }
  // Every rank adds the vector of the rank whose number differs in that bit.
  Work& adds(topo::Distance distance, int bit) {
    const double startup_us = on_.access().startup_us[distance];
    const double own_us = on_.add_us(passes_.bytes, distance), links_us = on_.us(on_.exchange_load(bit, passes_.bytes));
    return add({.startup_us = startup_us, .transfer_us = std::max(own_us, links_us - overlapped_us(startup_us))});
  }
  // Every rank reduces its slice of all inputs, which pass the links between the ranks.
  Work& reduces_slices() {
    const int p = on_.ranks();
    const double own_us = on_.reduce_us(slices(1), p, work_set_), startup_us = (p - 1) * on_.mean_startup_us();
    const double links_us = on_.us(on_.exchanged(passes_.bytes / p));
    const double lock_us = (p - 1) * on_.copy(passes_.bytes / p, 1).lock_us;
    return add({.startup_us = startup_us,
                .transfer_us = std::max(own_us, links_us - overlapped_us(startup_us) - lock_us),
                .lock_us = lock_us});
  }
  // Every rank copies a slice from every other rank. Over several iterations ranks drift apart, which hides the time
  // that the links take longer than the copies.
  Work& fetches_slices() {
    const int p = on_.ranks();
    const double slice = passes_.bytes / p, own_us = (p - 1) * slice * on_.mean_us_per_byte();
    const double links_us = on_.us(on_.exchanged(slice));
    return add({.startup_us = (p - 1) * on_.mean_startup_us(),
                .transfer_us = own_us + std::max(links_us - own_us, 0.0) / passes_.number});
  }
  // Recursive halving, neighbours first: in each step a rank fetches a part from another rank and adds it. `in_blocks`:
  // one copy per block.
  Work& halves_and_adds(bool in_blocks) {
    const int p = on_.ranks();
    return in_halves([&](int bit, double part) {
      const double copies = in_blocks ? std::max(part * p, 1.0) : 1;
      exchanges(part, copies, bit);
      reduces_own(slices(part * p) / passes_.bytes, 2).steps(copies + 3);  // a wait, the copies, an addition, a post
    });
  }
  // Recursive doubling of results: the steps of halves_and_adds() in reverse order, without additions.
  Work& doubles() {
    return in_halves([&](int bit, double part) { exchanges(part, 1, bit).steps(4); });  // two waits
  }
  // All ranks copy out the slices of one owner after the other; all copy from the same one at the same time.
  Work& copies_out_slices(int owners) {
    const double slice = slices(double(on_.ranks()) / owners);
    Terms one = on_.copy(slice, on_.ranks() - 1, on_.farthest(), true);
    one.startup_us = on_.mean_startup_us();
    return add(std::min(owners - 1.0, std::ceil(passes_.bytes / std::max(slice, 1.0))) * one);
  }
  // meets() and reduces_slices() within a group of `members` ranks, whose largest distance is `distance`. The first
  // `slices` members reduce a slice each, of `blocks` blocks that are reduced separately.
  Work& meets_in_group(int members, topo::Distance distance) {
    first_ += flags(on_.flag_us(distance) + (members - 1) * on_.line_us());
    return looks(members - 1);
  }
  Work& reduces_in_group(int members, int slices, topo::Distance distance, double blocks) {
    const double slice = passes_.bytes / slices, own_us = on_.reduce_us(slice, 1, work_set_);
    const double others_us = (members - 1) * std::max(own_us, on_.copy(slice, 1, distance).transfer_us);
    const double startup_us = blocks * (members - 1) * on_.access().startup_us[distance];
    const double links_us = on_.us(on_.exchanged_within(slice, members, slices));
    return add(
        {.startup_us = startup_us, .transfer_us = std::max(own_us + others_us, links_us - overlapped_us(startup_us))});
  }
  // Every member of a group of `members` ranks fetches a slice from every other member.
  Work& fetches_in_group(int members, topo::Distance distance) {
    const double slice = passes_.bytes / members;
    const Terms one = on_.copy(slice, 1, distance);
    const double startup_us = (members - 1) * one.startup_us;
    const double links_us = on_.us(on_.exchanged_within(slice, members));
    return add(
        {.startup_us = startup_us, .transfer_us = std::max((members - 1) * one.transfer_us, links_us - startup_us)});
  }
  // All ranks read a slice of one rank after the other, to combine it; no fetch serves several of them. In the first
  // iteration all read from the same rank at the same time. In later ones they have drifted apart, mostly to other L3s
  // of the same NUMA node.
  Work& reads_slices() {
    const double drifted = on_.mechanism() == Mechanism::shared_memory ? 0.7 : 0.4;
    const int p = on_.ranks();
    const double slice = passes_.bytes / p;
    const double spread_us = std::max((p - 1) * slice * on_.mean_us_per_byte(), on_.us(on_.exchanged(slice)));
    const double others = p - on_.loaded(1, true).memory;  // ranks outside the NUMA node
    const double crossing_us =
        std::max(spread_us,
                 on_.us({.numa = (p - 1) * slice * others, .socket = (p - 1) * slice * (p - on_.ranks_per_socket())}));
    const double later_us = crossing_us - drifted * (crossing_us - spread_us);
    const double first_us = std::max(crossing_us, (p - 1) * on_.copy(slice, p - 1, on_.farthest()).transfer_us);
    return add({.startup_us = (p - 1) * on_.mean_startup_us(),
                .transfer_us = later_us + (first_us - later_us) / passes_.number});
  }
  // One reduction of operands that are in the rank's own memory. With rates by size the others count as fetched from the
  // peers that have written them.
  Work& reduces_own(double vectors, int sources) {
    const double bytes = vectors * passes_.bytes;
    const bool by_size = !on_.table().caches.empty();
    return add(
        transfer(by_size ? on_.reduce_us(bytes, sources, work_set_) : sources * on_.reduce_us(bytes, 1, work_set_)));
  }
  // One reduction of partial results and of inputs of peers that the rank reads a second time.
  Work& reduces_again(double vectors, int sources) {
    return add(transfer(on_.reduce_us(vectors * passes_.bytes, sources, work_set_)));
  }
  // A copy of the rank's own data into a slot of a rank at that distance.
  Work& copies_to(topo::Distance distance) { return add(on_.copy_to(passes_.bytes, distance)); }
  // Each rank waits for a flag of every other rank. In later iterations these have been posted before the wait.
  Work& meets(double times = 1) {
    first_ += flags(times * on_.tiny_allgather_us() - times * (on_.ranks() - 1) * on_.look_us());
    return add(flags(times * (on_.ranks() - 1) * on_.look_us()));
  }
  // Waits for a flag whose post depends on the step before, so that each iteration waits for it.
  Work& waits(double times = 1) { return add(flags(times * on_.flag_us(on_.farthest()))); }
  Work& steps(double times) { return add(flags(times * on_.step_us())); }
  Work& looks(double times) { return add(flags(times * on_.look_us())); }
  Work& waits_for(topo::Distance distance) { return add(flags(on_.flag_us(distance))); }
  // Waits for a flag of each of `others` ranks; `readers` ranks read the last one at the same time.
  Work& sees(int others, int readers = 1) { return sees(others, readers, on_.farthest()); }
  Work& sees(int others, int readers, topo::Distance distance) {
    if (others == 0) return *this;
    first_ += flags(on_.flag_us(distance) + (readers - 1) * on_.line_us());
    return add(flags((others - 1) * on_.look_us()));
  }
  // Lanes of a rank do this work: while one waits for a peer or for the links, another one works on the next chunk, so
  // that all but the first iteration overlap. Call it last.
  Work& in_lanes() {
    const double all_us = pass_.total_us() - joining_us_, least_us = std::max(all_us - waits_us_, on_.us(exchanged_));
    hidden_us_ = joining_us_ + overlapped_in_lanes * std::max(all_us - least_us, 0.0);
    return *this;
  }
  Terms total() const { return first_ + passes_.number * pass_ + transfer((1 - passes_.number) * hidden_us_); }

 private:
  static constexpr double overlapped_in_lanes = 0.9;  // of what overlaps at best, simulated

  // Calls step(bit, part) for each step of recursive halving, in which ranks exchange `part` of the vector.
  template <typename Step>
  Work& in_halves(Step step) {
    double part = 0.5;
    for (int bit = 0; 1 << bit < on_.ranks(); ++bit, part /= 2) {
      const double before_us = pass_.total_us();
      step(bit, part);
      if (joins_blocks(bit)) joining_us_ += pass_.total_us() - before_us;
    }
    return *this;
  }
  Work& exchanges(double part, double copies, int bit) {
    const topo::Distance distance = on_.exchange_distance(bit);
    Terms one = on_.copy(slices(part * on_.ranks()), 1, distance);
    const Load load = on_.exchange_load(bit, part * passes_.bytes);
    one.startup_us *= copies;
    const double own_us = one.total_us();
    one.transfer_us = std::max(one.transfer_us, on_.us(load) - one.lock_us);
    one += flags(on_.flag_us(distance));
    if (!joins_blocks(bit)) waits_us_ += one.total_us() - own_us, exchanged_ += load;
    return add(one);
  }
  // Whether a step of recursive halving joins aligned blocks of ranks, of which the largest one has fewer steps. It
  // delays the first chunk; the other chunks are in other steps meanwhile.
  bool joins_blocks(int bit) const { return 2 << bit > on_.ranks(); }
  // The bytes of the first `number` slices of an iteration. The last slices of a short vector are empty.
  double slices(double number) const {
    const double slice = std::ceil(passes_.bytes / on_.ranks() / line_bytes_) * line_bytes_;
    return std::min(std::max(number, 1.0) * slice, passes_.bytes);
  }
  // The part of the startup times during which other ranks use the links. In a single iteration all ranks start their
  // copies together, so that the links are idle meanwhile; over several iterations ranks drift apart.
  double overlapped_us(double startup_us) const { return (1 - 1 / passes_.number) * startup_us; }
  Work& add(const Terms& terms) {
    pass_ += terms;
    return *this;
  }
  const Setting& on_;
  Passes passes_;
  double work_set_, line_bytes_ = 64;
  Terms first_, pass_;
  // Of the exchanges of an iteration: waits for peers and links, and the load of the links. The time of the steps that
  // join blocks, and the time that all but the first iteration hide.
  double waits_us_ = 0, joining_us_ = 0, hidden_us_ = 0;
  Load exchanged_;
};

inline double log2_up(int p) { return std::ceil(std::log2(std::max(p, 1))); }
// 1/2 + 1/4 + ... + 1/p: the parts of a vector that recursive halving exchanges.
inline double halves(int p) { return (p - 1.0) / p; }

// The time of a communicator of one rank, which copies its input to its output.
inline Terms alone(const Setting& on, double bytes) { return transfer(on.memcpy_us(bytes)); }

}  // namespace coll::model
