// SPDX-License-Identifier: BSD-3-Clause
// How a processor moves bytes from core to core: what is quickest differs from one to the next, and is found by measuring.
#pragma once

#include <cstddef>

namespace coll::mem {

struct Processor {
  // From here on `rep movsb` is the best way to load what another core has stored.
  size_t string_load_bytes;
  // From here on it is the best way to store what another core reads: it does not wait for what is in the lines that it
  // overwrites.
  size_t string_store_bytes;
  // Even if a distant core holds them: better than to bypass the caches.
  bool strings_overwrite;
  // Up to here lines next to a flag, asked for ahead of time, are back in time; beyond, a fresh place is better. Of ranks
  // that all wait for each other.
  size_t beside_flag_bytes;
};

// The one that this process runs on; known before main(). Thread safe.
const Processor& processor();

}  // namespace coll::mem
