// SPDX-License-Identifier: BSD-3-Clause
// Returns how many bytes of shared memory are resident in this process.
#pragma once

#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>

namespace coll::test {

inline size_t resident_shared_bytes() {
  std::ifstream status("/proc/self/status");
  const std::string name = "RssShmem:";
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name)) return size_t(std::stoull(line.substr(name.size()))) << 10;
  throw std::runtime_error("no RssShmem in /proc/self/status");
}

}  // namespace coll::test
