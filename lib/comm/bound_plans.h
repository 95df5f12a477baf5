// SPDX-License-Identifier: BSD-3-Clause
// The bound plans of a communicator, keyed by the call that they serve. The cache is set-associative: a program with
// fewer than about a hundred different calls finds all of them, and new calls that share a set displace entries of that
// set only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "comm/pieces.h"
#include "exec/bound.h"
#include "plan/plan.h"

namespace coll::comm {

// Identifies the bound plan that serves a call. All members are compared.
struct BoundKey {
  plan::Collective collective = plan::Collective::barrier;
  uint8_t channel = 0xff;
  int root = 0;
  size_t count = 0;
  size_t element_bytes = 0;
  bool needs_order = false;  // the operation does not commute
  uint8_t candidate = 0;     // the number of tune::Cell; 0: the default
  bool rounds = false;       // a built-in operation on 16-bit floats
  uint64_t pieces = 0;       // digest of the counts of a v-variant
  bool operator==(const BoundKey&) const = default;

  uint64_t hash() const {
    const uint64_t rest = uint64_t(collective) | uint64_t(channel) << 8 | uint64_t(needs_order) << 16 |
                          uint64_t(rounds) << 17 | uint64_t(candidate) << 18 | uint64_t(element_bytes) << 26;
    uint64_t mixed = (count ^ pieces) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 32 ^ rest ^ uint64_t(uint32_t(root)) << 32) * 0xd6e8feb86659fd93u;
    return mixed ^ mixed >> 32;
  }
};

struct BoundEntry {
  BoundKey key;
  std::shared_ptr<const Pieces> pieces;
  std::shared_ptr<exec::Bound> bound;

  bool serves(const BoundKey& wanted, const Pieces* lengths) const {
    return key == wanted &&
           (lengths == nullptr ? pieces == nullptr : pieces != nullptr && lengths->same_lengths(*pieces));
  }
};

// Not thread-safe. An entry stays valid until another entry of its set is inserted.
class BoundPlans {
 public:
  static constexpr size_t sets = 32, ways = 8;

  // Returns null if there is no such entry.
  const BoundEntry* find(const BoundKey& key, const Pieces* lengths) {
    const uint64_t hash = key.hash();
    Set* set = sets_[hash % sets].get();
    if (set == nullptr) return nullptr;
    if (const BoundEntry& latest = set->entries[set->latest]; latest.serves(key, lengths)) [[likely]]
      return &latest;
    for (size_t way = 0; way < ways; way++)
      if (set->tags[way] == tag(hash) && set->entries[way].serves(key, lengths)) return &set->use(way);
    return nullptr;
  }

  // Replaces the least recently used entry of the set. Throws std::bad_alloc; then nothing has changed.
  const BoundEntry& insert(BoundEntry entry) {
    const uint64_t hash = entry.key.hash();
    std::unique_ptr<Set>& set = sets_[hash % sets];
    if (set == nullptr) set = std::make_unique<Set>();
    const size_t way = size_t(std::min_element(set->used.begin(), set->used.end()) - set->used.begin());
    set->entries[way] = std::move(entry);
    set->tags[way] = tag(hash);
    return set->use(way);
  }

 private:
  struct Set {
    std::array<uint32_t, ways> tags{};
    std::array<uint64_t, ways> used{};  // value of `clock` at the last use; 0: never used
    uint64_t clock = 0;
    size_t latest = 0;
    std::array<BoundEntry, ways> entries;

    const BoundEntry& use(size_t way) {
      used[way] = ++clock;
      latest = way;
      return entries[way];
    }
  };
  static uint32_t tag(uint64_t hash) { return uint32_t(hash >> 32); }

  std::array<std::unique_ptr<Set>, sets> sets_;  // allocated on first use: few communicators use all
};

}  // namespace coll::comm
