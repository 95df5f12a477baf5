// SPDX-License-Identifier: BSD-3-Clause
#include "comm/scaling.h"

#include <algorithm>
#include <cstring>

#include "mem/reduce.h"
#include "mem/types.h"

namespace coll::comm {

namespace {

constexpr size_t block_bytes = 4096;  // stays in the first-level cache

}  // namespace

Scaling::Scaling(const void* factor, coll_datatype type)
    : type_(type),
      element_bytes_(mem::datatype_size(type)),
      factors_(std::make_unique_for_overwrite<char[]>(block_bytes)) {
  for (size_t at = 0; at + element_bytes_ <= block_bytes; at += element_bytes_)
    std::memcpy(&factors_[at], factor, element_bytes_);
}

void Scaling::multiply(void* to, const void* from, size_t count) const {
  const mem::ReduceKernel product = mem::reduce_kernel(COLL_PROD, type_);
  const size_t in_block = block_bytes / element_bytes_;
  for (size_t i = 0; i < count; i += in_block) {
    const size_t offset_bytes = i * element_bytes_;
    const void* const operands[] = {static_cast<const char*>(from) + offset_bytes, factors_.get()};
    product(static_cast<char*>(to) + offset_bytes, nullptr, operands, 2, std::min(in_block, count - i));
  }
}

}  // namespace coll::comm
