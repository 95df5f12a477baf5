// SPDX-License-Identifier: BSD-3-Clause
// Probes and barriers as programs use them together: "send to all; barrier; while a probe finds something, receive".
//
// MPI promises only that a probe finds a message in the end, but with MPI's own barrier the first one does: the barrier has
// looked at everything that arrived before. libcoll's has not. So a probe that finds nothing is repeated behind progress of
// MPI, if a collective was served since the last time; and a barrier behind an MPI_Isend first lets MPI push out what it
// still holds back.
#pragma once

#include "mpi/progress.h"

#include <atomic>
#include <thread>

namespace coll::shim {

extern constinit std::atomic<bool> served_since_probe;
extern constinit std::atomic<bool> found_since_served;
extern constinit std::atomic<bool> sent_since_barrier;

// Called for each collective that is served. (A flag that is set already is only read: threads share its cache line.)
inline void note_served() {
  if (!served_since_probe.load(std::memory_order_relaxed)) served_since_probe.store(true, std::memory_order_relaxed);
}
inline void note_sent() {
  if (!sent_since_barrier.load(std::memory_order_relaxed)) sent_since_barrier.store(true, std::memory_order_relaxed);
}

// At the start of a barrier that is served.
inline void push_out() {
  if (!sent_since_barrier.load(std::memory_order_relaxed)) [[likely]]
    return;
  sent_since_barrier.store(false, std::memory_order_relaxed);
  look_into_mpi(nullptr);
}

// Behind a probe that has found something, or has not; `probe()` repeats it, and returns whether it has found something or
// failed. MPI takes up a limited number of messages at once, hence more than one attempt; and its senders queue what does not
// fit, hence more of them, with the core given up in between, while a program receives what it finds.
template <typename Probe>
void after_probe(bool has_found, Probe probe) {
  if (!served_since_probe.load(std::memory_order_relaxed)) [[likely]]
    return;
  if (has_found) {
    if (!found_since_served.load(std::memory_order_relaxed)) found_since_served.store(true, std::memory_order_relaxed);
    return;
  }
  constexpr int few = 4, many = 64;
  const int attempts = found_since_served.load(std::memory_order_relaxed) ? many : few;
  for (int i = 0; i < attempts; i++) {
    if (i >= few) std::this_thread::yield();
    look_into_mpi(nullptr);
    if (probe()) return;
  }
  found_since_served.store(false, std::memory_order_relaxed);
  served_since_probe.store(false, std::memory_order_relaxed);
}

}  // namespace coll::shim
