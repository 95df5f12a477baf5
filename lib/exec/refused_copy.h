// SPDX-License-Identifier: BSD-3-Clause
// Copies that the owner of the memory makes because the rank that needs them cannot: the kernel refuses a copy if the
// memory has no pages that it can pin (memfd_secret, memory of a device) or if the processes may not access each other;
// or the memory is in an arena that the rank cannot map. The owner copies between the memory and a part of the
// communicator's segment that belongs to the rank that needs the copy. From then on the owner stages such buffers, so
// this happens in one operation of a rank only.
//
// Invariants
//  1. A rank whose copy was refused writes all fields but `state`, then stores `asked`; the owner copies, then stores
//     `made` or `failed` (sync/protocols.h, "Request"). So each field has one writer at a time.
//  2. The owner cannot miss it: an operation of a rank does not end before its peers have posted that they are done
//     with its buffers, and a rank that waits or advances requests looks at RankState::refusals whenever it checks
//     whether its peers are alive. So does a rank that waits for an owner.
//  3. A blocking collective waits for the owner. A request does not: it checks again whenever it is advanced.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sync/flag.h"

namespace coll::exec {

inline constexpr size_t refused_piece_bytes = size_t(256) << 10;

struct RefusedCopy {
  enum : uint32_t { none = 0, asked = 1, made = 2, failed = 3 };
  alignas(sync::line_bytes) std::atomic<uint32_t> state;
  int32_t owner;     // the rank that is to copy
  uint32_t write;    // into the owner's memory; 0: from it
  uint64_t address;  // of that memory, in the owner's process
  uint64_t bytes;    // at most refused_piece_bytes
};

// Such a copy on the side of the rank that needs it: in parts of at most refused_piece_bytes.
struct OwnersCopy {
  int owner = -1;
  bool write = false;
  uint64_t address = 0;  // in the owner's process
  char* local = nullptr;
  size_t bytes = 0;
  size_t done = 0;
  size_t asked = 0;  // bytes that the owner was asked for last; 0: none
};
enum class OwnersAnswer : uint8_t { pending, made, failed };

// Whether the owner may be able to make a copy that failed with this errno.
bool owner_can_copy(int error);

// A process that is being killed loses its memory (EFAULT) a moment before it counts as ended. So long a rank whose copy
// has failed waits for the end of the owner before it reports another failure.
inline constexpr int64_t end_awaited_ns = 300'000'000;

}  // namespace coll::exec
