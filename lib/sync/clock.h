// SPDX-License-Identifier: BSD-3-Clause
// Nanoseconds of CLOCK_MONOTONIC, the same for all processes of one machine. Thread safe; a call takes some 20 ns.
#pragma once

#include <time.h>

#include <cstdint>

namespace coll::sync {

inline int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace coll::sync
