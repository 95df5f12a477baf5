// SPDX-License-Identifier: BSD-3-Clause
// The adaptive rule: when a copy should use non-temporal stores (YHCCL, section 4).
#pragma once

#include <cstddef>
#include <cstdint>

namespace coll::mem {

enum class Stores : uint8_t { temporal, non_temporal };

// The caches that a group of ranks shares: one last-level cache, and the private caches of each core.
struct CacheInfo {
  size_t last_level_bytes = 0;
  size_t per_core_bytes = 0;
  bool inclusive = false;  // the last level holds a copy of everything in the private caches
};

// C = c' + p c'': how many bytes the caches of `ranks` cores can keep. Private caches count only if the last level does
// not repeat their contents.
constexpr size_t available_cache(const CacheInfo& cache, int ranks) {
  const size_t cores = ranks > 0 ? static_cast<size_t>(ranks) : 0;
  return cache.last_level_bytes + (cache.inclusive ? 0 : cores * cache.per_core_bytes);
}

// Non-temporal exactly if the stored data is not read again soon and the collective's work set W exceeds C.
// YHCCL's Algorithm 1 prints the two branches in the opposite order; its text and its measurements agree with this one.
constexpr Stores choose_stores(bool reused, size_t work_set_bytes, size_t available_cache_bytes) {
  return !reused && work_set_bytes > available_cache_bytes ? Stores::non_temporal : Stores::temporal;
}

}  // namespace coll::mem
