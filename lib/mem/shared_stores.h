// SPDX-License-Identifier: BSD-3-Clause
// How one rank stores what others read. Lines that a distant core has read, beyond another last-level cache or socket, are
// slow to take back before they are written, a few at a time. Stores that bypass the caches do not take them back, and a
// distant reader finds the data in memory no later than in the writer's cache. A near one finds them there twice as late.
//
// Nobody has to say which it is, and it may change where a hypervisor moves cores: the rank times one line now and then.
// When that takes as long as a line of memory does, it bypasses the caches. Nobody else notices how it stores.
// For one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace coll::mem {

class SharedStores {
 public:
  static constexpr size_t least_bytes = 4096;  // shorter data are stored ordinarily

  // Whether data of so many bytes should bypass the caches: copy_nt().
  bool stream(size_t bytes) const { return streams_ && bytes >= least_bytes; }

  // From now on always or never, whatever measure() finds.
  void settle(bool streams) { streams_ = streams, settled_ = true; }

  // To be called before a flag is stored, about as often as such data are; when it is true, measure() should follow.
  bool is_due() { return --left_ <= 0; }
  // Long data were stored: where there are few flags for them, the next measurement comes sooner.
  void count(size_t bytes) { left_ -= int(bytes / bytes_of_a_flag); }
  // The next is_due() will be true.
  bool is_next_due() const { return left_ <= 1; }
  // A flag of this rank, which most likely others have read since it was stored. Keeps its value.
  void measure(std::atomic<uint64_t>& flag);

  // What was measured: how many times as long as a line of memory one took to take back.
  void judge(double times);

 private:
  static constexpr size_t bytes_of_a_flag = size_t(32) << 10;

  bool streams_ = false, settled_ = false;
  uint8_t distant_ = 0;  // of the last eight measurements that proved something, a bit each
  uint8_t unread_ = 0;   // measurements that proved nothing, modulo the numbers of flags after which one is repeated
  int left_ = 4;         // flags until the next measurement
  int looks_ = 0;        // measurements, as long as they count
  double memory_ns_ = std::numeric_limits<double>::infinity();  // of a line of memory, as far as measured
};

}  // namespace coll::mem
