// SPDX-License-Identifier: BSD-3-Clause
// The owner's side of kcoll: which parts of this process's memory are registered, found again by address without a
// system call. Nothing has to be told when memory is unmapped, moved or mapped anew, because a region names addresses:
// the module follows the address space, and peers see what is there or are told that nothing is.
//
// Invariant: of two regions kept, neither covers the other with at least its rights; so ordered by their beginnings
// (and of these by writability) few have to be looked at. At most `most_regions` are kept, the least recently used
// goes first; one that somebody holds stays registered until it is let go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "transport/access.h"
#include "transport/kcoll_device.h"

namespace coll::transport {

class KcollRegions {
 public:
  static constexpr size_t most_regions = 64;

  // `mappable`: peers are to map what is registered, so its pages are pinned at once.
  KcollRegions(std::shared_ptr<KcollDevice> device, bool mappable) : device_(std::move(device)), mappable_(mappable) {}

  // A region of whole pages around [memory, memory + bytes). Where pages may not be pinned it cannot be mapped but can
  // be copied. unsuitable, no_allowance, bad_address: it cannot be registered, and nothing has changed.
  KcollStatus find(const void* memory, size_t bytes, bool writable, Announced& at, Hold& hold);

  size_t kept() const { return regions_.size(); }
  // Regions that were registered, ever.
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
