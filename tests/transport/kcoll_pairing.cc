// SPDX-License-Identifier: BSD-3-Clause
// Tests the library with the loaded module: prints the sentence that users read, or "ok" if it works. Built once as the
// library is, and once as a library of another version of the interface (kcoll_pairings.sh).
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "transport/kcoll_device.h"

using namespace coll::transport;

int main() {
  // Not in the program's own file, whose pages the module refuses.
  std::vector<char> from(8192, 'a'), to(8192, 'b');
  KcollStatus status = KcollStatus::ok;
  const auto device = KcollDevice::open(status);
  if (device == nullptr) {
    std::printf("version %d: %s: %s\n", KCOLL_VERSION, name(status), kcoll_hint(status).c_str());
    return status == KcollStatus::mismatch ? 3 : 1;
  }
  uint64_t cookie = 0;
  status = device->register_region(from.data(), from.size(), KcollDirection::read, KcollPinning::lazy, cookie);
  if (status == KcollStatus::ok) status = device->read(cookie, 0, to.data(), to.size());
  const bool good = status == KcollStatus::ok && to == from;
  std::printf("version %d: %s\n", KCOLL_VERSION, good ? "ok" : name(status));
  return good ? 0 : 1;
}
