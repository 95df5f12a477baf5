// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/blocks.h"

#include "mpi/packing.h"

#include <algorithm>
#include <cstdint>

namespace coll::shim {

Side::Side(const void *buffer, MPI_Datatype handle, const Datatype *element, int count, int blocks)
    : buffer_(static_cast<const char *>(buffer)),
      handle_(handle),
      element_(element),
      blocks_(blocks),
      count_(count),
      total_bytes_(static_cast<std::size_t>(count) * static_cast<std::size_t>(blocks) * element->size_bytes),
      packs_(total_bytes_ > 0 && !(element->vector_in_order || (blocks == 1 && element->in_order(count)))),
      data_(packs_ ? nullptr : const_cast<void *>(buffer)) {}

bool Side::describe(const void *buffer, MPI_Datatype handle, const Datatype *element, const int *counts,
                    const int *displs, int blocks, std::size_t *bytes) {
  buffer_ = static_cast<const char *>(buffer);
  handle_ = handle;
  element_ = element;
  blocks_ = blocks;
  counts_ = counts;
  displs_ = displs;
  byte_counts_ = bytes;
  byte_displs_ = bytes + blocks;
  // Displacements may be negative; libcoll's begin at the first block.
  std::ptrdiff_t first = PTRDIFF_MAX;
  for (int i = 0; i < blocks; i++) {
    if (counts[i] < 0) return false;
    byte_counts_[i] = static_cast<std::size_t>(counts[i]) * element->size_bytes;
    total_bytes_ += byte_counts_[i];
    if (counts[i] > 0) first = std::min<std::ptrdiff_t>(first, displs[i]);
  }
  packs_ = total_bytes_ > 0 && !element->vector_in_order;
  std::size_t end = 0;
  for (int i = 0; i < blocks; i++) {
    const std::ptrdiff_t from_first = counts[i] > 0 ? displs[i] - first : 0;
    byte_displs_[i] = packs_ ? end : static_cast<std::size_t>(from_first * element->extent_bytes);
    end += byte_counts_[i];
  }
  const std::ptrdiff_t to_first = total_bytes_ > 0 ? first * element->extent_bytes : 0;
  data_ = packs_ || buffer == nullptr ? nullptr : const_cast<char *>(buffer_) + to_first;
  return good();
}

bool Side::move(int block, bool in) const {
  const bool irregular = counts_ != nullptr;
  const int count = irregular ? counts_[block] : count_;
  if (count == 0) return true;
  const std::ptrdiff_t displ = irregular ? displs_[block] : static_cast<std::ptrdiff_t>(block) * count_;
  const std::size_t bytes = static_cast<std::size_t>(count) * element_->size_bytes;
  const char *at = buffer_ + displ * element_->extent_bytes;
  char *packed =
      static_cast<char *>(data_) + (irregular ? byte_displs_[block] : static_cast<std::size_t>(block) * bytes);
  return in ? pack_elements(at, count, handle_, *element_, packed)
            : unpack_elements(packed, const_cast<char *>(at), count, handle_, *element_);
}

bool Side::move_all(bool in) const {
  for (int block = 0; block < blocks_; block++)
    if (!move(block, in)) return false;
  return true;
}

}  // namespace coll::shim
