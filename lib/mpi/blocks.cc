// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/blocks.h"

#include "mpi/packing.h"

#include <algorithm>
#include <cstdint>

namespace coll::shim {

namespace {

// Writes the sizes of contiguous blocks to `bytes`, followed by their displacements, both in bytes. Returns the sum of
// the sizes; -1 if a count or a displacement is negative: then `bytes` is invalid.
template <typename Count, typename Displ>
std::ptrdiff_t in_bytes(const Count *counts, const Displ *displs, int blocks, std::size_t element_bytes,
                        std::size_t *bytes) {
  std::size_t *places = bytes + blocks;
  decltype(*counts | *displs) signs = 0;
  std::size_t total = 0;
  for (int i = 0; i < blocks; i++) {
    signs |= counts[i] | displs[i];
    places[i] = static_cast<std::size_t>(displs[i]) * element_bytes;
    bytes[i] = static_cast<std::size_t>(counts[i]) * element_bytes;
    total += bytes[i];
  }
  return signs < 0 ? -1 : static_cast<std::ptrdiff_t>(total);
}

}  // namespace

template <typename Count, typename Displ>
bool Side::describe(const void *buffer, MPI_Datatype handle, const Datatype *element, const Count *counts,
                    const Displ *displs, int blocks, std::size_t *bytes) {
  hold(buffer, handle, element, blocks);
  displs_ = displs;
  wide_ = sizeof(Displ) > sizeof(int);
  byte_counts_ = bytes;
  byte_displs_ = bytes + blocks;
  if (element->vector_in_order && !has_devices) {
    const std::ptrdiff_t total = in_bytes(counts, displs, blocks, element->size_bytes, bytes);
    if (total >= 0) [[likely]] {
      total_bytes_ = static_cast<std::size_t>(total);
      data_ = const_cast<char *>(buffer_);
      return good();
    }
  }
  // Displacements may be negative; libcoll's begin at the first block. These are local variables, because for all the
  // compiler knows `bytes` might point to members.
  const std::size_t element_bytes = element->size_bytes;
  std::ptrdiff_t first = PTRDIFF_MAX;
  std::size_t total = 0;
  for (int i = 0; i < blocks; i++) {
    if (counts[i] < 0) return false;
    bytes[i] = static_cast<std::size_t>(counts[i]) * element_bytes;
    total += bytes[i];
    if (counts[i] > 0) first = std::min<std::ptrdiff_t>(first, displs[i]);
  }
  const std::ptrdiff_t extent_bytes = element->extent_bytes;
  const std::ptrdiff_t to_first = total > 0 ? first * extent_bytes : 0;
  const bool packs = total > 0 && (!element->vector_in_order || in_device(buffer_ + to_first));
  std::size_t *places = bytes + blocks;
  std::size_t end = 0;
  for (int i = 0; i < blocks; i++) {
    const std::ptrdiff_t from_first = counts[i] > 0 ? displs[i] - first : 0;
    places[i] = packs ? end : static_cast<std::size_t>(from_first * extent_bytes);
    end += bytes[i];
  }
  total_bytes_ = total;
  packs_ = packs;
  data_ = packs || buffer == nullptr ? nullptr : const_cast<char *>(buffer_) + to_first;
  return good();
}

template bool Side::describe(const void *, MPI_Datatype, const Datatype *, const int *, const int *, int,
                             std::size_t *);
template bool Side::describe(const void *, MPI_Datatype, const Datatype *, const MPI_Count *, const MPI_Aint *, int,
                             std::size_t *);

bool Side::move(int block, bool in) const {
  const bool irregular = byte_counts_ != nullptr;
  const MPI_Count count =
      irregular ? static_cast<MPI_Count>(byte_counts_[block] / std::max<std::size_t>(element_->size_bytes, 1)) : count_;
  if (count == 0) return true;
  std::ptrdiff_t displ = irregular ? 0 : block * count_;
  if (irregular)
    displ = wide_ ? static_cast<const MPI_Aint *>(displs_)[block] : static_cast<const int *>(displs_)[block];
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
