// SPDX-License-Identifier: BSD-3-Clause
#include "transport/kcoll_mapping.h"

#include <cerrno>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "transport/shared_file.h"

namespace coll::transport {

namespace {

KcollStatus mapping_status(int error) {
  // From mmap() only: no region at this offset, or not mappable.
  return error == EINVAL ? KcollStatus::unsuitable : kcoll_status_of(error);
}

}  // namespace

std::unique_ptr<KcollMapping> KcollMapping::attach(std::shared_ptr<KcollDevice> device, uint64_t cookie,
                                                   uint64_t offset, size_t bytes, KcollDirection direction,
                                                   KcollStatus& status) {
  kcoll_attach region{};
  region.size = sizeof region;
  region.flags = KCOLL_QUIET;
  region.cookie = cookie;
  if (ioctl(device->descriptor(), KCOLL_ATTACH, &region) != 0) {
    status = kcoll_status_of(errno);
    return nullptr;
  }
  if (offset >= region.len || bytes > region.len - offset) {
    status = KcollStatus::out_of_range;
    return nullptr;
  }
  if (region.map_offset == 0) {
    status = (region.direction & KCOLL_READ) == 0 ? KcollStatus::no_permission : KcollStatus::unsuitable;
    return nullptr;
  }
  if (bytes == 0) bytes = region.len - offset;

  std::unique_ptr<KcollMapping> mapping(new KcollMapping);
  mapping->device_ = device;
  mapping->process_ = own_token();
  mapping->cookie_ = cookie;
  mapping->generation_ = region.gen;
  mapping->region_bytes_ = region.len;
  mapping->writable_ = direction != KcollDirection::read;
  // The module maps whole pages of the system's size, whatever the size of the region's pages.
  const uint64_t page = page_bytes(), begin = offset & ~(page - 1), end = (offset + bytes + page - 1) & ~(page - 1);
  const int protection = PROT_READ | (direction == KcollDirection::read ? 0 : PROT_WRITE);
  void* pages =
      mmap(nullptr, end - begin, protection, MAP_SHARED, device->descriptor(), off_t(region.map_offset + begin));
  if (pages == MAP_FAILED) {
    status = mapping_status(errno);
    return nullptr;
  }
  mapping->pages_ = static_cast<char*>(pages);
  mapping->mapped_bytes_ = end - begin;
  mapping->data_ = mapping->pages_ + (offset - begin);
  mapping->bytes_ = bytes;
  void* counters = mmap(nullptr, page, PROT_READ, MAP_SHARED, device->descriptor(), off_t(region.gen_offset));
  if (counters == MAP_FAILED) {
    status = mapping_status(errno);
    return nullptr;
  }
  mapping->counters_ = counters;
  mapping->counter_ = static_cast<const uint64_t*>(counters) + region.gen_slot;
  status = KcollStatus::ok;
  return mapping;
}

KcollMapping::~KcollMapping() {
  // A child after fork() does not have the mappings; other memory may be at these addresses.
  if (!(process_ == own_token())) return;
  if (pages_ != nullptr) munmap(pages_, mapped_bytes_);
  if (counters_ != nullptr) munmap(counters_, page_bytes());
}

uint64_t KcollMapping::seen() const {
  // The caller's loads and stores stay on their side of this load. (The thread sanitizer does not know
  // std::atomic_thread_fence(); the other side is the kernel, which it does not see either.)
  __sync_synchronize();
  return __atomic_load_n(counter_, __ATOMIC_ACQUIRE);
}

KcollStatus KcollMapping::refresh() {
  kcoll_sync arguments{};
  arguments.size = sizeof arguments;
  arguments.cookie = cookie_;
  int failed;
  do failed = ioctl(device_->descriptor(), KCOLL_SYNC, &arguments);
  while (failed != 0 && errno == EINTR);
  if (failed != 0) return kcoll_status_of(errno);
  generation_ = arguments.gen;
  return KcollStatus::ok;
}

}  // namespace coll::transport
