// SPDX-License-Identifier: BSD-3-Clause
// Time of CLOCK_MONOTONIC, the same for all processes of one machine. Thread safe; a call takes about 20 ns.
#pragma once

#include <time.h>

#include <cstdint>

namespace coll::sync {

inline int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

inline double now_seconds() { return double(now_ns()) * 1e-9; }

}  // namespace coll::sync
