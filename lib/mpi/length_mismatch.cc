// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/length_mismatch.h"

#include "mpi/devices.h"
#include "mpi/packing.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace coll::shim {

LengthMismatch::LengthMismatch(int blocks, std::size_t bytes)
    : room_(new (std::nothrow) char[static_cast<std::size_t>(blocks) * bytes]()), blocks_(blocks), bytes_(bytes) {}

bool LengthMismatch::load(const void *buffer, MPI_Count count, MPI_Datatype type, const Datatype &element) {
  const std::size_t has = static_cast<std::size_t>(count) * element.size_bytes;
  if (buffer == nullptr) return false;
  const std::unique_ptr<char[]> packed(new (std::nothrow) char[std::max<std::size_t>(has, 1)]);
  if (packed == nullptr) return false;
  for (int block = 0; block < blocks_; block++) {
    const char *from = static_cast<const char *>(buffer) + block * count * element.extent_bytes;
    if (has > 0 && !pack_elements(from, count, type, element, packed.get())) return false;
    std::memcpy(data() + static_cast<std::size_t>(block) * bytes_, packed.get(), std::min(has, bytes_));
  }
  return true;
}

bool LengthMismatch::store(void *buffer, MPI_Count count, MPI_Datatype type, const Datatype &element) const {
  const std::size_t has = static_cast<std::size_t>(count) * element.size_bytes;
  const std::size_t common = std::min(has, bytes_);
  if (common == 0) return true;
  if (buffer == nullptr) return false;
  for (int block = 0; block < blocks_; block++) {
    char *to = static_cast<char *>(buffer) + block * count * element.extent_bytes;
    const char *from = data() + static_cast<std::size_t>(block) * bytes_;
    const bool stored =
        element.vector_in_order
            ? copy_out(to, from, common)
            : unpack_elements(from, to, static_cast<MPI_Count>(common / element.size_bytes), type, element);
    if (!stored) return false;
  }
  return true;
}

}  // namespace coll::shim
