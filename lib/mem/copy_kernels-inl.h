// SPDX-License-Identifier: BSD-3-Clause
// Copies that memcpy lacks, or makes slowly. Compiled once per SIMD target.
#if defined(COLL_MEM_COPY_KERNELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COLL_MEM_COPY_KERNELS_INL_H
#undef COLL_MEM_COPY_KERNELS_INL_H
#else
#define COLL_MEM_COPY_KERNELS_INL_H
#endif

#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "mem/implementation.h"

HWY_BEFORE_NAMESPACE();
namespace coll::mem::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Bytes = hn::ScalableTag<uint8_t>;
using ByteVector = hn::Vec<Bytes>;

// Below this a non-temporal copy would write mostly partial lines.
inline constexpr size_t stream_least_bytes = 512;

HWY_INLINE size_t bytes_to_boundary(const uint8_t* address) {
  const size_t step = hn::Lanes(Bytes());
  return step - (reinterpret_cast<uintptr_t>(address) & (step - 1));
}

// Calls store(at, vector) for every vector; the first and the last may overlap their neighbours. bytes >= one vector.
template <class Store>
HWY_INLINE void for_vectors(const uint8_t* from, size_t at, size_t bytes, Store store) {
  const Bytes d;
  const size_t step = hn::Lanes(d);
  for (; at + 4 * step <= bytes; at += 4 * step) {
    const ByteVector v0 = hn::LoadU(d, from + at), v1 = hn::LoadU(d, from + at + step),
                     v2 = hn::LoadU(d, from + at + 2 * step), v3 = hn::LoadU(d, from + at + 3 * step);
    store(at, v0);
    store(at + step, v1);
    store(at + 2 * step, v2);
    store(at + 3 * step, v3);
  }
  for (; at + step <= bytes; at += step) store(at, hn::LoadU(d, from + at));
}

// The whole range; from some vectors on those in the middle are aligned as `to` is. bytes >= one vector.
template <class Store>
HWY_INLINE void for_range(const uint8_t* from, const uint8_t* to, size_t bytes, Store store) {
  const Bytes d;
  const size_t step = hn::Lanes(d);
  store(0, hn::LoadU(d, from));
  for_vectors(from, bytes >= 8 * step ? bytes_to_boundary(to) : step, bytes, store);
  store(bytes - step, hn::LoadU(d, from + bytes - step));
}

void copy_vector(void* dst, const void* src, size_t bytes) {
  const Bytes d;
  if (bytes < hn::Lanes(d)) {
    std::memcpy(dst, src, bytes);
    return;
  }
  uint8_t* to = static_cast<uint8_t*>(dst);
  for_range(static_cast<const uint8_t*>(src), to, bytes,
            [=](size_t at, ByteVector v) HWY_ATTR { hn::StoreU(v, d, to + at); });
}

void copy_nt_vector(void* dst, const void* src, size_t bytes) {
  if (bytes < stream_least_bytes) {
    std::memcpy(dst, src, bytes);
    return;
  }
  const Bytes d;
  uint8_t* to = static_cast<uint8_t*>(dst);
  const uint8_t* from = static_cast<const uint8_t*>(src);
  // Whole cache lines get non-temporal stores; the ends of the range share lines with other data.
  const size_t head = -reinterpret_cast<uintptr_t>(to) & 63;
  const size_t end = head + ((bytes - head) & ~size_t{63});
  std::memcpy(to, from, head);
  for_vectors(from, head, end, [=](size_t at, ByteVector v) HWY_ATTR { hn::Stream(v, d, to + at); });
  std::memcpy(to + end, from + end, bytes - end);
  hwy::FlushStream();
}

void copy2_vector(void* dst1, void* dst2, const void* src, size_t bytes) {
  const Bytes d;
  if (bytes < hn::Lanes(d)) {
    std::memcpy(dst1, src, bytes);
    std::memcpy(dst2, src, bytes);
    return;
  }
  uint8_t* to1 = static_cast<uint8_t*>(dst1);
  uint8_t* to2 = static_cast<uint8_t*>(dst2);
  for_range(static_cast<const uint8_t*>(src), to1, bytes, [=](size_t at, ByteVector v) HWY_ATTR {
    hn::StoreU(v, d, to1 + at);
    hn::StoreU(v, d, to2 + at);
  });
}

constexpr CopyKernels copy_kernels = {copy_vector, copy_nt_vector, copy2_vector};

}  // namespace coll::mem::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
