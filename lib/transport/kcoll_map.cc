// SPDX-License-Identifier: BSD-3-Clause
#include "transport/kcoll_map.h"

#include <algorithm>

namespace coll::transport {

// A kept mapping that is current, or is again after refresh(). Null if there is none with these rights, or if its
// region no longer exists.
std::shared_ptr<KcollMapping> KcollMap::find(Mappings& mappings, uint64_t cookie, bool writable) {
  auto found = mappings.find(cookie);
  if (found == mappings.end()) return nullptr;
  KcollMapping& mapping = *found->second.mapping;
  const bool usable = mapping.writable() || !writable;
  if (usable && (mapping.current() || mapping.refresh() == KcollStatus::ok)) {
    found->second.used = ++uses_;
    return found->second.mapping;
  }
  mappings.erase(found);
  return nullptr;
}

Window KcollMap::map(int rank, const Announced& at, bool writable, Hold& hold) {
  if (!at.mappable) return {};
  Mappings& mappings = peers_[size_t(rank)];
  std::shared_ptr<KcollMapping> mapping = find(mappings, at.region, writable);
  if (mapping == nullptr) {
    KcollStatus status;
    const KcollDirection direction = writable ? KcollDirection::both : KcollDirection::read;
    mapping = KcollMapping::attach(device(), at.region, 0, 0, direction, status);
    if (mapping == nullptr) return {};
    mapped_++;
    if (mappings.size() >= most_mappings)
      mappings.erase(std::min_element(mappings.begin(), mappings.end(),
                                      [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
    mappings[at.region] = {mapping, ++uses_};
  }
  if (at.place >= mapping->bytes()) return {};
  hold = mapping;
  return {mapping->data() + at.place, mapping->counter(), mapping->generation()};
}

}  // namespace coll::transport
