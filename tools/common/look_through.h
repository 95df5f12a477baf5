// SPDX-License-Identifier: BSD-3-Clause
// Reads data as the user of a result does, so that a timed call pays for the caches in which it left the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace coll::tools {

// Reads one word of each cache line.
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
