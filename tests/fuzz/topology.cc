// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <cstdlib>

#include "topo/machine.h"
#include "topo/sensitivity.h"
#include "topo/source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace coll::topo;
  if (bytes == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, bytes - 1);
  Machine machine;
  Sensitivity sensitivity;
  std::string checked;
  switch (data[0]) {
    case 's':
      // Anything that load_synthetic() accepts can be described and read again.
      if (load_synthetic(text, machine).ok() && !parse(serialize(machine), machine).ok()) abort();
      break;
    case 'x': (void)check_xml(text, checked); break;
    case 'm': (void)parse(text, machine); break;
    case 'g': (void)Sensitivity::parse(text, sensitivity); break;
    default: break;
  }
  return 0;
}
