// SPDX-License-Identifier: BSD-3-Clause
// A copy between two ranks that the kernel refuses: the memory has no pages that it can pin (memfd_secret, memory of a
// device), or the processes may not access each other. The owner of the memory makes the copy instead: between the memory
// and a piece of the arena of the rank that needs it. From then on the owner stages its buffers, so this happens in one
// operation of a rank only.
//
// Invariants
//  1. A rank whose copy was refused writes all fields but `state`, then stores `asked`; the owner copies, then stores
//     `made` or `failed`. So each field has one writer at a time.
//  2. The owner cannot miss it: an operation of a rank does not end before its peers have posted that they are done with
//     its buffers, and a rank that waits looks at RankState::refusals whenever it looks whether its peers live. A rank that
//     waits for an owner does so, too.
#pragma once

#include <atomic>
#include <cstdint>

#include "sync/flag.h"

namespace coll::exec {

struct RefusedCopy {
  enum : uint32_t { none = 0, asked = 1, made = 2, failed = 3 };
  alignas(sync::line_bytes) std::atomic<uint32_t> state;
  int32_t owner;     // the rank that is asked
  uint32_t write;    // into the owner's memory; 0: from it
  uint64_t address;  // of that memory, in the owner's process
  uint64_t bytes;
  uint64_t offset;  // of the piece, in the arena of the rank that asks
};

// Whether to try it after this errno of a copy.
bool owner_can_copy(int error);

}  // namespace coll::exec
