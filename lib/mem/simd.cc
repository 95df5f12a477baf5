// SPDX-License-Identifier: BSD-3-Clause
#include "mem/simd.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "config/config.h"
#include "mem/copy.h"
#include "mem/implementation.h"
#include "mem/processor.h"
#include "mem/reduce_ops.h"

namespace coll::mem {
namespace {

// Null until the first use. Threads that choose at the same time store the same value, and it points to constant data,
// so relaxed order is enough.
constinit std::atomic<const Implementation*> chosen{nullptr};

const Implementation* find(std::string_view name) {
  for (const Implementation& candidate : all_implementations())
    if (name == candidate.name && candidate.supported()) return &candidate;
  return nullptr;
}

const Implementation& choose() {
  const char* forced = config::value("COLL_SIMD");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  if (forced == nullptr || find(forced) == nullptr) forced = "scalar";  // the sanitizer checks these kernels
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

// Whether `rep movsb` is very slow at these addresses. Zen 3 copies 2 GB/s instead of 60 if dst is up to half a line
// behind src within their pages, and few more up to two lines behind; Zen 5 copies a third as fast as otherwise.
bool rep_movsb_is_slow(const void* dst, const void* src) {
  constexpr size_t page_bytes = 4096, most_behind = 127;
  const size_t behind = (reinterpret_cast<uintptr_t>(dst) - reinterpret_cast<uintptr_t>(src)) % page_bytes;
  return behind - 1 < most_behind;
}

}  // namespace

void copy_rep_movsb(void* dst, const void* src, size_t bytes) {
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (processor().has_rfo_free_stores()) {
    asm volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(bytes)::"memory");
    return;
  }
#endif
  std::memcpy(dst, src, bytes);
}

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
  if (op >= COLL_OP_END_ || type >= COLL_DATATYPE_END_) return {};
  const KernelTable* table = implementation().reduce;
  auto look_up = [table](auto entry_of) {
    const ReduceFunction function = table != nullptr ? entry_of(*table) : nullptr;
    return function != nullptr ? function : entry_of(scalar_kernels);
  };
  const ReduceFunction whole = look_up([=](const KernelTable& kernels) { return kernels.at[op][type]; });
  if (partial_type(type) == type) return {whole, whole, whole, whole};
  const size_t half = type - COLL_FLOAT16;
  return {.whole = whole,
          .begin = look_up([=](const KernelTable& kernels) { return kernels.to_float[op][half]; }),
          .join = look_up([=](const KernelTable& kernels) { return kernels.at[op][COLL_FLOAT]; }),
          .finish = look_up([=](const KernelTable& kernels) { return kernels.from_float[op][half]; })};
}

void detail::copy_long(void* dst, const void* src, size_t bytes) {
  if (bytes < rep_movsb_load_min_bytes() || rep_movsb_is_slow(dst, src)) copy_vectors(dst, src, bytes);
  else copy_rep_movsb(dst, src, bytes);
}

void copy_vectors(void* dst, const void* src, size_t bytes) { implementation().copy.copy(dst, src, bytes); }

void copy_nt(void* dst, const void* src, size_t bytes) { implementation().copy.copy_nt(dst, src, bytes); }

void copy_shared(void* dst, const void* src, size_t bytes, bool streams) {
  if (bytes >= processor().rep_movsb_no_rfo_min_bytes && !rep_movsb_is_slow(dst, src))
    return copy_rep_movsb(dst, src, bytes);
  streams ? copy_nt(dst, src, bytes) : copy(dst, src, bytes);
}

void copy_streaming(void* dst, const void* src, size_t bytes) {
  const bool by_rep_movsb =
      processor().has_rfo_free_stores() && bytes >= rep_movsb_load_min_bytes() && !rep_movsb_is_slow(dst, src);
  by_rep_movsb ? copy_rep_movsb(dst, src, bytes) : copy_nt(dst, src, bytes);
}

void copy2(void* dst1, void* dst2, const void* src, size_t bytes) {
  implementation().copy.copy2(dst1, dst2, src, bytes);
}

}  // namespace coll::mem
