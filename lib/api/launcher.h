// SPDX-License-Identifier: BSD-3-Clause
// The bootstrap of `collctl run`: a memfd that the launcher creates and every rank inherits.
//
// The launcher sets COLL_LAUNCH="rank/ranks/descriptor" in the environment of each rank.
//
// Invariants
//  1. The launcher writes `ranks` before it starts any rank. Only its rank writes a slot, before that rank adds itself
//     to `arrived`; no rank reads a slot before `generation` has changed. The last rank to arrive changes it.
//  2. If a rank exits and can no longer arrive, the launcher sets `abandoned` in `generation` permanently. A waiting
//     rank then gives up, and no rank arrives any more, so `arrived` never counts a rank twice.
//  3. Only one process at a time is a rank: it holds a lock (F_SETLK) on the byte of the file whose offset is the rank.
//     The kernel releases the lock when the process ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sync/system_wait.h"

namespace coll::launcher {

inline constexpr const char* variable = "COLL_LAUNCH";
inline constexpr size_t slot_bytes = 4096;
inline constexpr uint32_t abandoned = 1u << 31;

struct Meeting {
  std::atomic<uint32_t> arrived;
  std::atomic<uint32_t> generation;  // a futex
  uint32_t ranks;
  std::atomic<uint32_t> ended_rank;  // the first rank that exited; valid if `abandoned` is set
  // [ranks] slots of slot_bytes follow at slot_bytes
};

inline constexpr size_t meeting_bytes(int ranks) { return slot_bytes * (size_t(ranks) + 1); }

// Wakes the waiting ranks, which then read `generation` again.
inline void wake_all(Meeting& meeting) { sync::futex_wake_all(meeting.generation); }

}  // namespace coll::launcher
