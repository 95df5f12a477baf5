// SPDX-License-Identifier: BSD-3-Clause
// What one SIMD target provides, inside lib/mem only.
#pragma once

#include <cstddef>
#include <span>

namespace coll::mem {

struct KernelTable;

struct CopyKernels {
  void (*copy)(void* dst, const void* src, size_t bytes);
  void (*copy_nt)(void* dst, const void* src, size_t bytes);
  void (*copy2)(void* dst1, void* dst2, const void* src, size_t bytes);
};

struct Implementation {
  const char* name;
  bool (*supported)();
  const KernelTable* reduce;  // null entries: the scalar kernel serves
  CopyKernels copy;
};

// All that are compiled in, best first, scalar last (simd_targets.cc).
std::span<const Implementation> all_implementations();

// The one in use (simd.cc).
const Implementation& implementation();

}  // namespace coll::mem
