// SPDX-License-Identifier: BSD-3-Clause
#include "mem/simd.h"

#include <atomic>
#include <cstdlib>
#include <vector>

#include "config/config.h"
#include "mem/copy.h"
#include "mem/implementation.h"
#include "mem/reduce_ops.h"

namespace coll::mem {
namespace {

// Null until the first use. Whoever comes first stores the same value as everybody else, so relaxed order is enough:
// what the pointer leads to is constant data.
constinit std::atomic<const Implementation*> chosen{nullptr};

const Implementation* find(std::string_view name) {
  for (const Implementation& candidate : all_implementations())
    if (name == candidate.name && candidate.supported()) return &candidate;
  return nullptr;
}

const Implementation& choose() {
  const char* forced = config::value("COLL_SIMD");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  if (forced == nullptr || find(forced) == nullptr) forced = "scalar";  // the kernels that the sanitizer sees into
#endif
  const Implementation* found = forced != nullptr ? find(forced) : nullptr;
  if (found == nullptr)
    for (const Implementation& candidate : all_implementations())
      if (candidate.supported()) {
        found = &candidate;
        break;
      }
  chosen.store(found, std::memory_order_relaxed);
  return *found;
}

}  // namespace

const Implementation& implementation() {
  const Implementation* current = chosen.load(std::memory_order_relaxed);
  return current != nullptr ? *current : choose();
}

std::span<const char* const> simd_targets() {
  static const std::vector<const char*> names = [] {
    std::vector<const char*> list;
    for (const Implementation& candidate : all_implementations())
      if (candidate.supported()) list.push_back(candidate.name);
    return list;
  }();
  return names;
}

const char* simd_target() { return implementation().name; }

bool simd_select(std::string_view name) {
  const Implementation* found = find(name);
  if (found == nullptr) return false;
  chosen.store(found, std::memory_order_relaxed);
  return true;
}

std::string simd_environment_error() {
  const char* forced = config::value("COLL_SIMD");
  if (forced == nullptr || find(forced) != nullptr) return {};
  std::string message = "COLL_SIMD=" + std::string(forced) + " is ignored: this machine and build have";
  for (const char* name : simd_targets()) message += " " + std::string(name);
  return message + "; set one of these or unset it";
}

ReduceKernel reduce_kernel(coll_op op, coll_datatype type) {
  if (op >= COLL_OP_END_ || type >= COLL_DATATYPE_END_) return nullptr;
  const KernelTable* table = implementation().reduce;
  const ReduceKernel kernel = table != nullptr ? table->at[op][type] : nullptr;
  return kernel != nullptr ? kernel : scalar_kernels.at[op][type];
}

// A `rep movsb` may crawl: AMD's Zen 3 moves 2 GB/s instead of 60 when dst lies up to half a line behind src within their
// pages, and few more up to two lines. Memory of malloc() begins 16 bytes behind a page, staging on one. What few
// kilobytes another core has just written Zen 4 moves half as fast by it, wherever they lie.
void detail::copy_long(void* dst, const void* src, size_t bytes) {
  constexpr size_t page_bytes = 4096, most_behind = 127, few_bytes = size_t(32) << 10;
  const size_t behind = (reinterpret_cast<uintptr_t>(dst) - reinterpret_cast<uintptr_t>(src)) % page_bytes;
  if (bytes <= few_bytes || behind - 1 < most_behind) copy_vectors(dst, src, bytes);
  else std::memcpy(dst, src, bytes);
}

void copy_vectors(void* dst, const void* src, size_t bytes) { implementation().copy.copy(dst, src, bytes); }

void copy_nt(void* dst, const void* src, size_t bytes) { implementation().copy.copy_nt(dst, src, bytes); }

void copy2(void* dst1, void* dst2, const void* src, size_t bytes) {
  implementation().copy.copy2(dst1, dst2, src, bytes);
}

}  // namespace coll::mem
