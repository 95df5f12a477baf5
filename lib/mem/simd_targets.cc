// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>

#include "mem/implementation.h"

namespace coll::mem {
namespace {

void copy_scalar(void* dst, const void* src, size_t bytes) { std::memcpy(dst, src, bytes); }

void copy2_scalar(void* dst1, void* dst2, const void* src, size_t bytes) {
  std::memcpy(dst1, src, bytes);
  std::memcpy(dst2, src, bytes);
}

constexpr Implementation implementations[] = {
    {"scalar", [] { return true; }, nullptr, {copy_scalar, copy_scalar, copy2_scalar}},
};

}  // namespace

std::span<const Implementation> all_implementations() { return implementations; }

}  // namespace coll::mem
