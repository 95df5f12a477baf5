// SPDX-License-Identifier: BSD-3-Clause
// Returns how much address space this process has mapped.
#pragma once

#include <cstddef>
#include <fstream>
#include <unistd.h>

namespace coll::test {

inline size_t address_space() {
  std::ifstream status("/proc/self/statm");
  size_t pages = 0;
  status >> pages;
  return pages * size_t(sysconf(_SC_PAGESIZE));
}

}  // namespace coll::test
