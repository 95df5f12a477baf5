// SPDX-License-Identifier: BSD-3-Clause
// Flags: sequence numbers in shared memory that one rank writes and any rank reads.
//
// Invariants
//  1. A FlagLine has one writer, the rank whose line it is. No atomic read-modify-write is ever needed.
//  2. `sequence` only grows. A reader that sees a value >= the one it waits for sees everything the writer stored
//     before posting it (release store, acquire load).
//  3. `published_*` announce where the writer's buffer can be reached in operation `published_operation`. They are
//     stored before the sequence value that announces them, and change only when no reader can still need them: the
//     writer of a direct view waits for its readers before its operation ends. A reader of another, staged operation
//     sees an operation number that is not its own and ignores the rest.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace coll::sync {

inline constexpr size_t line_bytes = 64;

struct alignas(line_bytes) FlagLine {
  std::atomic<uint64_t> sequence;
  std::atomic<uint64_t> published_operation;  // its number on the channel (exec/channel.h)
  std::atomic<uint64_t> published_address;    // in the writer's address space
  std::atomic<uint64_t> published_offset;     // in the arena of the writer's process, plus one; 0 when it is not there
  // For memory outside the arena: transport::Announced.
  std::atomic<uint64_t> published_region;
  std::atomic<uint64_t> published_place;
  std::atomic<uint64_t> published_mappable;
};
static_assert(sizeof(FlagLine) == line_bytes && std::atomic<uint64_t>::is_always_lock_free);

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace coll::sync
