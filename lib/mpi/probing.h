// SPDX-License-Identifier: BSD-3-Clause
// Messages and barriers as programs use them together: "send to all; barrier; while a probe finds something, receive",
// "send from the attached buffer; receive; barrier; send from the same buffer", or "complete the access; barrier; test the
// window once".
//
// MPI guarantees only that a probe or a test eventually succeeds, and that room in the buffer is eventually free. With
// MPI's own barrier these hold at once, because the barrier has processed everything that arrived before; libcoll's has
// not. So a probe or a test of a window that finds nothing is repeated after MPI's progress has run, if a collective was
// served since the last one; progress runs before a buffered send, if one was served since the last of these; and a
// barrier after an MPI_Isend first lets MPI send what it has queued.
#pragma once

#include "mpi/handles.h"
#include "mpi/progress.h"

#include <atomic>
#include <thread>

namespace coll::shim {

// What has not been called since the last served collective: bits of a mask.
enum Since : unsigned { since_probe = 1, since_window_test = 2, since_buffered_send = 4, since_all = 7 };
extern constinit std::atomic<unsigned> served_since;
extern constinit std::atomic<unsigned> found_since_served;  // the probes and tests that have found something
extern constinit std::atomic<bool> sent_since_barrier;

// Called for each served collective. (The mask is written only if a bit is missing: threads share its cache line.)
inline void note_served() {
  if (served_since.load(std::memory_order_relaxed) != since_all)
    served_since.store(since_all, std::memory_order_relaxed);
}
inline void note_sent() {
  if (!sent_since_barrier.load(std::memory_order_relaxed)) sent_since_barrier.store(true, std::memory_order_relaxed);
}

// Called instead of note_sent() before a send from the attached buffer. The room of earlier ones is free when MPI has
// processed what their receivers have answered.
inline void note_buffered_send() {
  note_sent();
  if ((served_since.load(std::memory_order_relaxed) & since_buffered_send) == 0) [[likely]]
    return;
  served_since.fetch_and(~since_buffered_send, std::memory_order_relaxed);
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

// Makes a probe or a test of a window (`kind`: its bit) by `call()`, which sets `*flag`, and repeats it as described above;
// returns its last error code. There are several attempts because MPI accepts a limited number of messages at once, and
// more of them, which yield the processor, while the program receives what it finds, because senders queue the messages
// that do not fit.
template <typename Call>
int poll(Since kind, const int *flag, Call call) {
  int result = call();
  if (result != MPI_SUCCESS || (served_since.load(std::memory_order_relaxed) & kind) == 0) [[likely]]
    return result;
  const bool has_found = (found_since_served.load(std::memory_order_relaxed) & kind) != 0;
  if (*flag != 0) {
    if (!has_found) found_since_served.fetch_or(kind, std::memory_order_relaxed);
    return result;
  }
  constexpr int few = 4, many = 64;
  for (int i = 0; i < (has_found ? many : few); i++) {
    if (i >= few) std::this_thread::yield();
    drive_mpi_progress(nullptr);
    result = call();
    if (result != MPI_SUCCESS || *flag != 0) return result;
  }
  found_since_served.fetch_and(~kind, std::memory_order_relaxed);
  served_since.fetch_and(~kind, std::memory_order_relaxed);
  return result;
}

}  // namespace coll::shim
