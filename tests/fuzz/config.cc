// SPDX-License-Identifier: BSD-3-Clause
#include "config/config.h"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  std::vector<coll::config::Line> lines;
  coll::config::parse({reinterpret_cast<const char*>(data), bytes}, "the input", lines);
  return 0;
}
