// SPDX-License-Identifier: BSD-3-Clause
#include "exec/reducer.h"

#include <algorithm>
#include <memory>

#include "mem/copy.h"

namespace coll::exec {

namespace {

constexpr size_t block_bytes = 4096;

// The function computes inout = in op inout, so operands are folded from the last source down to the first.
void fold_user(const Reducer& reducer, char* dst, char* dst2, const char* const* src, int sources, size_t offset,
               size_t count, char* accumulator) {
  size_t bytes = count * reducer.element_bytes;
  mem::copy(accumulator, src[sources - 1] + offset, bytes);
  for (int s = sources - 2; s >= 0; s--)
    reducer.function(src[s] + offset, accumulator, count, reducer.type, reducer.context);
  mem::copy(dst + offset, accumulator, bytes);
  if (dst2 != nullptr) mem::copy(dst2 + offset, accumulator, bytes);
}

// Chained kernels; the accumulator is apart from dst, which may be one of the later sources.
void fold_kernel(const Reducer& reducer, char* dst, char* dst2, const char* const* src, int sources, size_t offset,
                 size_t count, char* accumulator) {
  const void* part[mem::max_sources];
  int next = 0;
  while (next < sources) {
    int n = 0;
    if (next > 0) part[n++] = accumulator;
    while (n < mem::max_sources && next < sources) part[n++] = src[next++] + offset;
    bool last = next == sources;
    reducer.kernel(last ? dst + offset : accumulator, last && dst2 != nullptr ? dst2 + offset : nullptr, part, n,
                   count);
  }
}

}  // namespace

void Reducer::many(void* dst, void* dst2, const void* const* src, int sources, size_t count) const {
  alignas(64) char small[block_bytes];
  std::unique_ptr<char[]> large;
  char* accumulator = small;
  if (element_bytes > block_bytes) accumulator = (large = std::make_unique<char[]>(element_bytes)).get();
  size_t block = std::max<size_t>(block_bytes / element_bytes, 1);
  auto fold = kernel != nullptr ? fold_kernel : fold_user;
  for (size_t i = 0; i < count; i += block)
    fold(*this, static_cast<char*>(dst), static_cast<char*>(dst2), reinterpret_cast<const char* const*>(src), sources,
         i * element_bytes, std::min(block, count - i), accumulator);
}

}  // namespace coll::exec
