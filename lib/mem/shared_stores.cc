// SPDX-License-Identifier: BSD-3-Clause
#include "mem/shared_stores.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <limits>
#include <vector>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace coll::mem {

namespace {

template <typename Touch>
double duration_ns(Touch touch) {
  const auto begin = std::chrono::steady_clock::now();
  touch();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

// The lower quartile of several times.
template <typename Touch>
double quick_ns(Touch touch) {
  constexpr size_t tries = 16;
  std::array<double, tries> times;
  for (size_t i = 0; i < tries; i++) times[i] = touch(i);
  std::ranges::nth_element(times, times.begin() + tries / 4);
  return times[tries / 4];
}

// Time to read the clock, and nothing else.
double clock_ns() {
  return quick_ns([](size_t) { return duration_ns([] {}); });
}

// Whether a program can flush a line from all caches, and wait for it. aarch64 can, but what its system-level caches then
// keep has not been measured.
#if defined(__x86_64__)
constexpr bool can_flush = true;
#else
constexpr bool can_flush = false;
#endif

// Time to load a line that is in no cache. Infinite if lines cannot be flushed.
double memory_ns() {
#if defined(__x86_64__)
  constexpr size_t lines = 16, spacing = (4096 + 64) / sizeof(uint64_t);
  static const auto& memory = *new std::vector<uint64_t>(lines * spacing, 1);  // threads may outlive static objects
  return quick_ns([&](size_t i) {
    const volatile uint64_t* word = &memory[i * 7 % lines * spacing];
    _mm_clflush(const_cast<const uint64_t*>(word));
    _mm_mfence();
    return duration_ns([&] { (void)*word, _mm_lfence(); });
  });
#else
  return std::numeric_limits<double>::infinity();
#endif
}

// Waits until this core owns the lines of all its stores so far.
void await_stores() {
#if defined(__x86_64__)
  _mm_mfence();
#endif
}

}  // namespace

void SharedStores::measure(std::atomic<uint64_t>& flag) {
  // Without a time to compare with, each measurement would look like that of an unread flag, which the next one follows
  // soon.
  if (pinned_ || !can_flush) {
    left_ = std::numeric_limits<int>::max();
    return;
  }
  // Other work on the machine makes memory look slow for a while, and far flags near: use the shortest of several
  // times.
  constexpr int times = 8, spacing = 8;
  static const double clock = clock_ns();
  if (measurements_ < times * spacing && measurements_++ % spacing == 0)
    memory_ns_ = std::min(memory_ns_, std::max(memory_ns() - clock, 1.0));
  // Earlier stores must not count, which the atomic access would wait for: hundreds of nanoseconds for staged data.
  await_stores();
  // A compiler may turn fetch_add(0) into a fence, or into nothing: it must not know the operand.
  uint64_t zero = 0;
  asm volatile("" : "+r"(zero));
  update((duration_ns([&] { flag.fetch_add(zero, std::memory_order_relaxed); }) - clock) / memory_ns_);
}

// Measured: 0.2 to 0.6 between cores of one last-level cache, 0.9 to 1.5 between others, occasionally much more. If no
// rank has read a flag yet, this core still owns it, and the measurement proves nothing: the next one comes sooner, and
// not always the same number of flags later, because in a row of equal calls each such flag might be one that no rank
// has read. A measurement makes the rank wait for its stores, so they are few as long as all agree.
void SharedStores::update(double ratio) {
  constexpr double owned = 0.15, other_l3 = 0.75;
  constexpr int every = 16, seldom = 64, soon = 6, spread = 7, many = 5, few = 2, all = 8;
  if (pinned_) return;
  if (ratio < owned) {
    unread_ = uint8_t((unread_ + 1) % spread);
    left_ = soon + unread_;
    return;
  }
  other_l3_ = uint8_t(other_l3_ << 1 | (ratio > other_l3));
  const int found = std::popcount(other_l3_);
  left_ = found == 0 || found == all ? seldom : every;
  if (found >= many) streams_ = true;
  if (found <= few) streams_ = false;
}

}  // namespace coll::mem
