// SPDX-License-Identifier: BSD-3-Clause
// Messages and barriers as programs use them together: "send to all; barrier; while a probe finds something, receive", or
// "send from the attached buffer; receive; barrier; send from the same buffer".
//
// MPI guarantees only that a probe eventually finds a message, and that room in the buffer is eventually free. With
// MPI's own barrier both hold at once, because the barrier has processed everything that arrived before; libcoll's has
// not. So a probe that finds nothing is repeated after MPI's progress has run, if a collective was served since the
// last probe; progress runs before a buffered send, if one was served since the last of these; and a barrier after an
// MPI_Isend first lets MPI send what it has queued.
#pragma once

#include "mpi/progress.h"

#include <atomic>
#include <thread>

namespace coll::shim {

extern constinit std::atomic<bool> served_since_probe;
extern constinit std::atomic<bool> served_since_buffered_send;
extern constinit std::atomic<bool> found_since_served;
extern constinit std::atomic<bool> sent_since_barrier;

// Called for each served collective. (The flags are written only if they are not set: threads share their cache line.)
inline void note_served() {
  if (!served_since_probe.load(std::memory_order_relaxed)) served_since_probe.store(true, std::memory_order_relaxed);
  if (!served_since_buffered_send.load(std::memory_order_relaxed))
    served_since_buffered_send.store(true, std::memory_order_relaxed);
}
inline void note_sent() {
  if (!sent_since_barrier.load(std::memory_order_relaxed)) sent_since_barrier.store(true, std::memory_order_relaxed);
}

// Called instead of note_sent() before a send from the attached buffer. The room of earlier ones is free when MPI has
// processed what their receivers have answered.
inline void note_buffered_send() {
  note_sent();
  if (!served_since_buffered_send.load(std::memory_order_relaxed)) [[likely]]
    return;
  served_since_buffered_send.store(false, std::memory_order_relaxed);
  constexpr int attempts = 16;
  for (int i = 0; i < attempts; i++) drive_mpi_progress(nullptr);
}

// Called at the start of a served barrier.
inline void flush_sends() {
  if (!sent_since_barrier.load(std::memory_order_relaxed)) [[likely]]
    return;
  sent_since_barrier.store(false, std::memory_order_relaxed);
  drive_mpi_progress(nullptr);
}

// Called after a probe; `has_found`: it has found a message. `probe()` repeats the probe and returns whether it has
// found one or failed. There are several attempts because MPI accepts a limited number of messages at once, and more of
// them, which yield the processor, while the program receives what it finds, because senders queue the messages that do
// not fit.
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
    drive_mpi_progress(nullptr);
    if (probe()) return;
  }
  found_since_served.store(false, std::memory_order_relaxed);
  served_since_probe.store(false, std::memory_order_relaxed);
}

}  // namespace coll::shim
