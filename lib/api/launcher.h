// SPDX-License-Identifier: BSD-3-Clause
// The bootstrap of `collctl run`: a memfd that the launcher makes and every rank inherits.
//
// The environment tells a rank where it stands: COLL_LAUNCH="rank/ranks/descriptor".
//
// Invariants
//  1. The launcher writes `ranks` before it starts any rank. A slot is written by its rank only, before that rank adds
//     itself to `arrived`; no rank reads a slot before `generation` has moved on, which the last to arrive does.
//  2. The launcher sets `abandoned` in `generation`, for good, when a rank has ended that can no longer arrive. A rank that
//     waits then gives up, and no rank arrives any more: so `arrived` never counts one rank twice.
//  3. One process at a time is a rank: it holds a lock on that byte of the file whose number is the rank (F_SETLK). The
//     kernel releases it when the process ends.
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
  std::atomic<uint32_t> ended_rank;  // the first one, where `abandoned` is set
  // [ranks] slots of slot_bytes follow at slot_bytes
};

inline constexpr size_t meeting_bytes(int ranks) { return slot_bytes * (size_t(ranks) + 1); }

// Ranks that wait look at `generation` anew.
inline void wake_all(Meeting& meeting) { sync::futex_wake_all(meeting.generation); }

}  // namespace coll::launcher
