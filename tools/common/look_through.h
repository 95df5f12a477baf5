// SPDX-License-Identifier: BSD-3-Clause
// Reading as whoever uses a result does, so that it counts where the data was left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace coll::tools {

// Has one word of each line in the caller's cache.
inline void look_through(const char* memory, size_t bytes) {
  uint32_t sum = 0;
  for (size_t at = 0; at + sizeof sum <= bytes; at += 64) {
    uint32_t word;
    std::memcpy(&word, memory + at, sizeof word);
    sum ^= word;
  }
  asm volatile("" : : "r"(sum));
}

}  // namespace coll::tools
