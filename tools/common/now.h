// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>

namespace coll::tools {

// Returns seconds of the monotonic clock. Thread safe.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace coll::tools
