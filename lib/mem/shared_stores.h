// SPDX-License-Identifier: BSD-3-Clause
// How one rank stores data that others read. Lines that a far core has read, behind another last-level cache or socket,
// need a slow read-for-ownership before they are written, a few at a time. Non-temporal stores need none, and a far
// reader finds the data in memory no later than in the writer's cache. A near reader takes twice as long to get them
// from memory.
//
// A rank does not know where its readers are, and a hypervisor may move cores: it periodically measures how long it
// takes to regain ownership of a line. If that takes as long as a load from memory, it uses non-temporal stores. Peers
// do not notice how it stores. A processor on which the load from memory cannot be timed uses ordinary stores. For one
// thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace coll::mem {

class SharedStores {
 public:
  static constexpr size_t least_bytes = 4096;  // shorter data get ordinary stores

  // Whether data of this many bytes should get non-temporal stores: copy_nt().
  bool stream(size_t bytes) const { return streams_ && bytes >= least_bytes; }

  // From now on use non-temporal stores always or never, whatever measure() finds.
  void pin(bool streams) { streams_ = streams, pinned_ = true; }

  // Call it before a flag is stored, about as often as such data are. If it returns true, measure() should follow.
  bool is_due() { return --left_ <= 0; }
  // Counts long data that were stored: if there are few flags for them, the next measurement comes sooner.
  void count(size_t bytes) { left_ -= int(bytes / bytes_of_a_flag); }
  // Whether the next is_due() will return true.
  bool is_next_due() const { return left_ <= 1; }
  // Measures on a flag of this rank, which peers have most likely read since it was stored. The flag keeps its value.
  void measure(std::atomic<uint64_t>& flag);

  // Updates the policy by a measurement: `ratio` is the time to regain ownership of a line, divided by the time to load
  // a line from memory.
  void update(double ratio);

 private:
  static constexpr size_t bytes_of_a_flag = size_t(32) << 10;

  bool streams_ = false, pinned_ = false;
  uint8_t other_l3_ = 0;  // a bit for each of the last eight conclusive measurements: 1 if another L3 had the line
  uint8_t unread_ = 0;    // inconclusive measurements, modulo the `spread` of update()
  int left_ = 4;          // flags until the next measurement
  int measurements_ = 0;  // measurements so far, counted while memory is still timed
  double memory_ns_ = std::numeric_limits<double>::infinity();  // to load a line from memory: the shortest time so far
};

}  // namespace coll::mem
