// SPDX-License-Identifier: BSD-3-Clause
#include "transport/kcoll_copy.h"

namespace coll::transport {

bool KcollCopy::offer(const void* memory, size_t bytes, bool writable, Announced& at, Hold& hold) {
  return regions_.find(memory, bytes, writable, at, hold) == KcollStatus::ok;
}

int KcollCopy::read(int, const Announced& at, uint64_t offset, void* to, size_t bytes) {
  return errno_of(device_->read(at.region, at.place + offset, to, bytes));
}

int KcollCopy::write(int, const Announced& at, uint64_t offset, const void* from, size_t bytes) {
  return errno_of(device_->write(at.region, at.place + offset, from, bytes));
}

std::string KcollCopy::hint(int error) const { return kcoll_hint(kcoll_status_of(error)); }

}  // namespace coll::transport
