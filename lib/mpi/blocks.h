// SPDX-License-Identifier: BSD-3-Clause
// One rank's side of a collective that moves blocks: what it sends, or what it receives, as bytes for libcoll.
//
// Data that is contiguous in sending order is used in place. Other data is packed, block by block, because another rank
// may describe the same message by a contiguous datatype: only the bytes of a block are equal on all ranks. Data in a
// device's memory is packed, too.
#pragma once

#include "mpi/datatypes.h"
#include "mpi/devices.h"
#include "mpi/handles.h"

#include <cstddef>

namespace coll::shim {

// Special values of a block's number.
constexpr int no_block = -1;
constexpr int all_blocks = -2;

class Side {
 public:
  // A side that takes no part in the call. Not copyable: vector loads of recently stored scalars are slow (failed store
  // forwarding).
  Side() = default;
  Side(const Side &) = delete;
  Side &operator=(const Side &) = delete;

  void set_in_place() {
    packs_ = false;
    data_ = const_cast<void *>(COLL_IN_PLACE);
  }

  // Describes `blocks` blocks of `count` elements each, adjacent.
  void describe(const void *buffer, MPI_Datatype handle, const Datatype *element, MPI_Count count, int blocks) {
    hold(buffer, handle, element, blocks);
    count_ = count;
    total_bytes_ = static_cast<std::size_t>(count) * static_cast<std::size_t>(blocks) * element->size_bytes;
    packs_ = total_bytes_ > 0 &&
             (!(element->vector_in_order || (blocks == 1 && element->in_order(count))) || in_device(buffer));
    data_ = packs_ ? nullptr : const_cast<void *>(buffer);
  }

  // Describes `blocks` blocks with a count and a displacement each, as MPI's v-variants have them: int and int, or
  // MPI_Count and MPI_Aint. `bytes` has room for two numbers per block and must stay valid as long as the side. Returns
  // false if a count is negative, or the buffer is NULL although there is data.
  template <typename Count, typename Displ>
  bool describe(const void *buffer, MPI_Datatype handle, const Datatype *element, const Count *counts,
                const Displ *displs, int blocks, std::size_t *bytes);

  // False if the buffer is NULL although data is used in place: a mistake of the program. Packed data may be at
  // MPI_BOTTOM, which is NULL, too.
  bool good() const { return packs_ || data_ != nullptr || total_bytes_ == 0; }

  // Bytes of packing memory that the side needs, 0 if none; pack_at() sets where this memory is.
  std::size_t packed_bytes() const { return packs_ ? total_bytes_ : 0; }
  void pack_at(char *packed) {
    if (packs_) data_ = packed;
  }
  // Replaces the handle by another one for the same datatype.
  void retype(MPI_Datatype handle, const Datatype *element) {
    handle_ = handle;
    element_ = element;
  }
  MPI_Datatype datatype() const { return handle_; }

  // Packs one block, or all of them; stores all. Does nothing for data used in place. Returns false if MPI reports an
  // error.
  bool load(int block) const { return !packs_ || move(block, true); }
  bool load() const { return !packs_ || move_all(true); }
  bool store() const { return !packs_ || move_all(false); }

  // Arguments for libcoll: counts and displacements in bytes.
  void *data() const { return data_; }
  const std::size_t *counts() const { return byte_counts_; }
  const std::size_t *displs() const { return byte_displs_; }

 private:
  void hold(const void *buffer, MPI_Datatype handle, const Datatype *element, int blocks) {
    buffer_ = static_cast<const char *>(buffer);
    handle_ = handle;
    element_ = element;
    blocks_ = blocks;
  }
  bool move(int block, bool in) const;
  bool move_all(bool in) const;

  // Set by describe(), for packing. Not initialised: clearing them would take longer than the rest of a short call.
  const char *buffer_;
  MPI_Datatype handle_;
  const Datatype *element_;
  int blocks_;
  MPI_Count count_;     // of every block, unless it is a v-variant
  const void *displs_;  // int or MPI_Aint, depending on wide_
  bool wide_;           // displs_ are MPI_Aint, not int

  std::size_t *byte_counts_ = nullptr;
  std::size_t *byte_displs_ = nullptr;
  std::size_t total_bytes_ = 0;
  bool packs_ = false;
  void *data_ = nullptr;
};

}  // namespace coll::shim
