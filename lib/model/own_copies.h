// SPDX-License-Identifier: BSD-3-Clause
// Copies from a rank's own memory to peers. They take at least as long as copies within it; rates by size include that.
#pragma once

#include <algorithm>

#include "model/formulas.h"

namespace coll::model {

inline Terms from_own_memory(const Setting& on, double bytes, Terms copy) {
  if (on.table().caches.empty()) copy.transfer_us = std::max(copy.transfer_us, on.memcpy_us(bytes) - copy.lock_us);
  return copy;
}

// One copy to each of `peers` peers at all distances.
inline Terms to_peers(const Setting& on, double bytes, int peers) {
  return peers * from_own_memory(on, bytes, from_peers(on, bytes, 1));
}

}  // namespace coll::model
