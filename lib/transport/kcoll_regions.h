// SPDX-License-Identifier: BSD-3-Clause
// The owner's side of kcoll: the registered parts of this process's memory, found by address without a system call. No
// notification is needed when memory is unmapped, moved or remapped, because a region names addresses: the module
// follows the address space, and peers see the memory that is there or get an error.
//
// Invariant: of two kept regions, neither covers the other with at least its rights; so in the order of their
// beginnings few have to be looked at. At most `most_regions` are kept, the least recently used is dropped first; a
// dropped one stays registered until its last Hold is dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "transport/kcoll_device.h"
#include "transport/mechanism.h"

namespace coll::transport {

class KcollRegions {
 public:
  static constexpr size_t most_regions = 64;

  // `mappable`: peers will map registered memory, so its pages are pinned at once.
  KcollRegions(std::shared_ptr<KcollDevice> device, bool mappable) : device_(std::move(device)), mappable_(mappable) {}

  // Finds or registers a region of whole pages around [memory, memory + bytes). If its pages may not be pinned, it
  // cannot be mapped but can be copied. Returns unsuitable, no_allowance or bad_address if it cannot be registered;
  // nothing has changed then.
  KcollStatus find(const void* memory, size_t bytes, bool writable, Announced& at, Hold& hold);

  size_t kept() const { return regions_.size(); }
  // Number of regions registered so far.
  uint64_t registered() const { return registered_; }

 private:
  struct Region;
  struct Entry {
    std::shared_ptr<Region> region;
    uint64_t used = 0;
  };
  using Regions = std::multimap<uintptr_t, Entry>;  // by the first byte's address

  Regions::iterator covering(uintptr_t begin, uintptr_t end, bool writable);
  void make_room(uintptr_t begin, uintptr_t end, bool writable);

  const std::shared_ptr<KcollDevice> device_;
  const bool mappable_;
  Regions regions_;
  uint64_t uses_ = 0, registered_ = 0;
};

}  // namespace coll::transport
