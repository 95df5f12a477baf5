// SPDX-License-Identifier: BSD-3-Clause
// How one rank stores data that others read: it writes or reduces into shared memory, and prepares memory that it will
// store to. Lines that a far core has read, behind another last-level cache or socket, need a slow read-for-ownership
// before they are written, a few at a time. Non-temporal stores need none, and a far reader finds the data in memory no
// later than in the writer's cache. A near reader takes twice as long to get them from memory.
//
// A rank does not know where its readers are, and a hypervisor may move cores: it periodically measures how long it
// takes to regain ownership of a line. If that takes as long as a load from memory, it uses non-temporal stores. Peers
// do not notice how it stores. A processor on which the load from memory cannot be timed uses ordinary stores. For one
// thread at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "mem/copy.h"
#include "mem/fetch.h"
#include "mem/processor.h"

namespace coll::mem {

class SharedStores {
 public:
  static constexpr size_t least_bytes = 4096;  // shorter data get ordinary stores

  // Whether data of this many bytes should get non-temporal stores: copy_nt().
  bool stream(size_t bytes) const { return streams_ && bytes >= least_bytes; }

  // Copies to `shared`, which peers read next: with non-temporal stores, rep movsb or vectors, as suits the processor
  // and the distance of the readers.
  void write(char* shared, const char* source, size_t bytes) {
    count(bytes);
    if (stream(bytes)) return copy_shared(shared, source, bytes, true);
    if (bytes >= rep_movsb_store_min_bytes()) return copy_shared(shared, source, bytes, false);
    write_in_steps(shared, bytes, [&](size_t at, size_t length) { copy(shared + at, source + at, length); });
  }
  // The same, and to `own`, which this rank reads. Either may be `source` itself.
  void write(char* shared, char* own, const char* source, size_t bytes) {
    count(bytes);
    if (stream(bytes)) {
      copy_shared(shared, source, bytes, true);
      return copy(own, source, bytes);
    }
    write_in_steps(shared, bytes,
                   [&](size_t at, size_t length) { copy_both(shared + at, own + at, source + at, length); });
  }
  // Calls combine(first, second, sources, elements), which reduces `sources` to one or two places, until `shared`, which
  // peers read next, and `own`, unless it is null, have all results. Moves `sources`.
  template <typename Combine>
  void reduce(char* shared, char* own, const void** sources, int count, size_t elements, size_t element_bytes,
              const Combine& combine) const;

  // Prefetches memory that this rank will write soon, if that gains anything.
  void prepare(const char* shared, size_t bytes) const {
    if (!stream(bytes)) fetch_for_writing(shared, bytes);
  }

  // Whether a payload is stored without a read-for-ownership: with non-temporal stores, or with rep movsb. `symmetric`:
  // all ranks wait for each other.
  bool writes_without_rfo(size_t bytes, bool symmetric) const {
    const Processor& here = processor();
    if (bytes < std::min(least_bytes, here.rep_movsb_no_rfo_min_bytes)) return false;
    if (stream(bytes)) return true;
    return here.has_rfo_free_stores() && (!symmetric || bytes >= rep_movsb_store_min_bytes());
  }

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

// Whether write() of so many bytes gains nothing from a prefetch of the memory, wherever its readers are.
inline bool writes_without_prefetch(size_t bytes) {
  return processor().has_rfo_free_stores() && bytes >= rep_movsb_store_min_bytes();
}

// Whether some kind of store needs no read-for-ownership, and the fastest one for long data at equal alignment.
inline bool has_rfo_free_stores() { return processor().has_rfo_free_stores(); }

// Up to how many bytes a payload is fastest in the same place each time, next to its flag.
inline size_t most_bytes_in_place(bool symmetric) {
  return symmetric ? processor().inline_max_bytes_symmetric : processor().inline_max_bytes_rooted;
}

template <typename Combine>
void SharedStores::reduce(char* shared, char* own, const void** sources, int count, size_t elements,
                          size_t element_bytes, const Combine& combine) const {
  const size_t bytes = elements * element_bytes;
  if (!stream(bytes)) return combine(shared, own, sources, elements);
  if (own != nullptr) {
    combine(own, nullptr, sources, elements);
    return copy_shared(shared, own, bytes, true);
  }
  alignas(line_bytes) char piece[size_t(8) << 10];
  const size_t most = sizeof piece / element_bytes;
  // If the destination is also a source, its lines are in this core's caches anyway: ordinary stores then.
  if (most == 0 || std::find(sources, sources + count, shared) != sources + count)
    return combine(shared, nullptr, sources, elements);
  for (size_t length; elements > 0; elements -= length) {
    length = std::min(most, elements);
    combine(piece, nullptr, sources, length);
    copy_shared(shared, piece, length * element_bytes, true);
    shared += length * element_bytes;
    for (int s = 0; s < count; s++) sources[s] = static_cast<const char*>(sources[s]) + length * element_bytes;
  }
}

}  // namespace coll::mem
