// SPDX-License-Identifier: BSD-3-Clause
// What a rank writes into its staging for an exchange: an entry for each peer that it sends to, which says where the data
// is, one for each peer that it receives from, both by peer, and the windows of staged streams.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "exec/neighbor_exchange.h"

namespace coll::exec {

enum class How : uint32_t { staged, direct };  // direct: mapped, of the same process, or copied by the kernel

// Aligned to words, not to lines: staging may begin 16 bytes behind a page, see window_at().
struct NeighborExchange::OutEntry {
  int32_t peer;
  uint32_t messages;
  uint64_t bytes;
  union {
    uint64_t lengths;  // of several messages
    uint64_t region;   // of a direct message outside the arena: transport::Announced
  };
  How how;
  uint32_t window_bytes;
  union {
    uint64_t address;        // direct: in the sender's address space
    uint64_t window_offset;  // staged: from the beginning of the table
  };
  uint64_t arena_offset;  // plus one; 0: outside the arena
  uint64_t place;
  std::atomic<uint64_t> staged;
};

struct NeighborExchange::InEntry {
  std::atomic<uint64_t> consumed;
  int32_t peer;
};

struct NeighborExchange::Table {
  uint32_t outs, ins;

  OutEntry* out() { return reinterpret_cast<OutEntry*>(this + 1); }
  InEntry* in() { return reinterpret_cast<InEntry*>(out() + outs); }
  static size_t bytes(size_t outs, size_t ins) {
    return sizeof(Table) + outs * sizeof(OutEntry) + ins * sizeof(InEntry);
  }
  template <typename Entry>
  static Entry* find(Entry* entries, uint32_t count, int peer) {
    Entry* const found =
        std::lower_bound(entries, entries + count, peer, [](const Entry& e, int wanted) { return e.peer < wanted; });
    return found != entries + count && found->peer == peer ? found : nullptr;
  }
};

}  // namespace coll::exec
