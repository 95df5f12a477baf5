// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <cstdlib>

#include "model/table_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace coll::model;
  Table table, again;
  if (!parse_table({reinterpret_cast<const char*>(data), bytes}, "the input", table).ok()) return 0;
  const std::string written = write_table(table);
  if (!parse_table(written, "what was written", again).ok() || write_table(again) != written) abort();
  return 0;
}
