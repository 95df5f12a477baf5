// SPDX-License-Identifier: BSD-3-Clause
// Copies between memory that this process maps. Ranges must not overlap; any alignment; zero bytes is allowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "mem/adaptive.h"

namespace coll::mem {

namespace detail {
// Two loads and two stores of one width, the second pair ending where the range ends: no loop, no branch on the
// exact size. Both loads come first, so the compiler keeps them in registers.
template <size_t width>
inline void copy_ends(char* dst, const char* src, size_t bytes) {
  struct Block {
    char data[width];
  } head, tail;
  std::memcpy(&head, src, width);
  std::memcpy(&tail, src + bytes - width, width);
  std::memcpy(dst, &head, width);
  std::memcpy(dst + bytes - width, &tail, width);
}

// From this size on memcpy may be a `rep movsb`.
inline constexpr size_t long_bytes = 2048;
void copy_long(void* dst, const void* src, size_t bytes);
}  // namespace detail

// Copies with vector loads and stores, at any addresses.
void copy_vectors(void* dst, const void* src, size_t bytes);

// Copies with `rep movsb` if the processor has RFO-free stores. Otherwise with memcpy(), which selects `rep movsb` by
// rules of its own; a sanitizer checks its accesses.
void copy_rep_movsb(void* dst, const void* src, size_t bytes);

// Copies with ordinary stores, for data that this core or a neighbour is expected to read soon. Beyond 16 bytes the C
// library's memcpy was never slower than a dispatched vector loop or a hand-written `rep movsb` from 64 bytes to 64 MiB
// (bench/micro_mem.cc), except in the cases that copy_long() treats: addresses at which it is very slow, and data of
// another core. It uses non-temporal stores only far above the chunks that collectives copy.
inline void copy(void* dst, const void* src, size_t bytes) {
  char* to = static_cast<char*>(dst);
  const char* from = static_cast<const char*>(src);
  if (bytes > 16) {
    if (bytes >= detail::long_bytes) [[unlikely]]
      return detail::copy_long(dst, src, bytes);
    std::memcpy(dst, src, bytes);
    return;
  }
  if (bytes >= 8) return detail::copy_ends<8>(to, from, bytes);
  if (bytes >= 4) return detail::copy_ends<4>(to, from, bytes);
  if (bytes >= 2) return detail::copy_ends<2>(to, from, bytes);
  if (bytes == 1) *to = *from;
}

// Copies with non-temporal stores and ends with a store fence, so that a flag stored afterwards publishes the data.
// Pays only when the data is not read again before it would leave the last-level cache: see choose_stores().
void copy_nt(void* dst, const void* src, size_t bytes);

// Copies over lines that another core has read: with `rep movsb` from the size on at which that needs no
// read-for-ownership, otherwise with non-temporal stores if `streams` and with ordinary ones if not. Set `streams` if
// that core is behind another L3. A flag stored afterwards publishes the data, as for copy_nt().
void copy_shared(void* dst, const void* src, size_t bytes, bool streams);

// Copies data that will not be read again soon, without a read-for-ownership of the destination: non-temporal stores,
// or `rep movsb` for long data if the processor has RFO-free stores.
void copy_streaming(void* dst, const void* src, size_t bytes);

// One load, two stores: fills a private buffer and a shared one at once. dst1 and dst2 must not overlap.
void copy2(void* dst1, void* dst2, const void* src, size_t bytes);

// The same for destinations either of which may be the source, which is then skipped.
inline void copy_both(char* first, char* second, const char* source, size_t bytes) {
  if (first == source && second == source) return;
  if (first == source) copy(second, source, bytes);
  else if (second == source) copy(first, source, bytes);
  else copy2(first, second, source, bytes);
}

inline void copy(void* dst, const void* src, size_t bytes, Stores stores) {
  stores == Stores::temporal ? copy(dst, src, bytes) : copy_streaming(dst, src, bytes);
}

}  // namespace coll::mem
