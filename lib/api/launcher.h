// SPDX-License-Identifier: BSD-3-Clause
// The bootstrap of `collctl run`: a memfd that the launcher makes and every rank inherits.
//
// The environment tells a rank where it stands: COLL_LAUNCH="rank/ranks/descriptor".
//
// Invariants: the launcher writes `ranks` before it starts any rank. A slot is written by its rank only, before that
// rank adds itself to `arrived`; nobody reads a slot before `generation` has moved on, which the last to arrive does.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace coll::launcher {

inline constexpr const char* variable = "COLL_LAUNCH";
inline constexpr size_t slot_bytes = 4096;

struct Meeting {
  std::atomic<uint32_t> arrived;
  std::atomic<uint32_t> generation;  // a futex
  uint32_t ranks;
  // [ranks] slots of slot_bytes follow at slot_bytes
};

inline constexpr size_t meeting_bytes(int ranks) { return slot_bytes * (size_t(ranks) + 1); }

}  // namespace coll::launcher
