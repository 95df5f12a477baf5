// SPDX-License-Identifier: BSD-3-Clause
#include "transport/kcoll_regions.h"

#include <algorithm>

#include "transport/shared_file.h"

namespace coll::transport {

// A region, registered as long as this object lives.
struct KcollRegions::Region {
  std::shared_ptr<KcollDevice> device;
  uint64_t cookie = 0;
  uintptr_t begin = 0, end = 0;
  bool writable = false, mappable = false;
  ~Region() {
    if (cookie != 0) device->unregister_region(cookie);
  }
  bool serves(uintptr_t first, uintptr_t last, bool to_write) const {
    return begin <= first && last <= end && (writable || !to_write);
  }
};

// Searches the regions that begin at or before `begin`, nearest first. A region that begins far before it and still
// covers it is found, too; there are never more than most_regions.
KcollRegions::Regions::iterator KcollRegions::covering(uintptr_t begin, uintptr_t end, bool writable) {
  for (auto next = regions_.upper_bound(begin); next != regions_.begin();)
    if ((--next)->second.region->serves(begin, end, writable)) return next;
  return regions_.end();
}

// Drops the regions that the new one can replace, and, if there are too many, the least recently used one.
void KcollRegions::make_room(uintptr_t begin, uintptr_t end, bool writable) {
  for (auto next = regions_.lower_bound(begin); next != regions_.end() && next->first < end;) {
    const Region& old = *next->second.region;
    next = old.end <= end && (writable || !old.writable) ? regions_.erase(next) : std::next(next);
  }
  if (regions_.size() < most_regions) return;
  regions_.erase(std::min_element(regions_.begin(), regions_.end(),
                                  [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
}

KcollStatus KcollRegions::find(const void* memory, size_t bytes, bool writable, Announced& at, Hold& hold) {
  // Whole pages: the module maps no others.
  const uintptr_t page = page_bytes(), first = uintptr_t(memory), begin = first & ~(page - 1),
                  end = (first + bytes + page - 1) & ~(page - 1);
  auto found = covering(begin, end, writable);
  if (found == regions_.end()) {
    auto region = std::make_shared<Region>(Region{device_, 0, begin, end, writable, false});
    const KcollDirection direction = writable ? KcollDirection::both : KcollDirection::read;
    auto enter = [&](KcollPinning pinning) {
      return device_->register_region(reinterpret_cast<void*>(begin), end - begin, direction, pinning, region->cookie);
    };
    KcollStatus status = enter(mappable_ ? KcollPinning::eager : KcollPinning::lazy);
    region->mappable = mappable_ && status == KcollStatus::ok;
    // Also if nothing is mapped there any more: a copy reports that, while staging would make the owner itself read it.
    if (status != KcollStatus::ok && mappable_) status = enter(KcollPinning::lazy);
    if (status != KcollStatus::ok) return status;
    registered_++;
    make_room(begin, end, writable);
    found = regions_.emplace(begin, Entry{std::move(region), 0});
  }
  found->second.used = ++uses_;
  const Region& region = *found->second.region;
  at = {region.cookie, first - region.begin, region.mappable};
  hold = found->second.region;
  return KcollStatus::ok;
}

}  // namespace coll::transport
