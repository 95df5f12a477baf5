// SPDX-License-Identifier: BSD-3-Clause
// One rank's side of a collective that moves blocks: what it sends, or what it receives, as bytes for libcoll.
//
// Data that lie in sending order are used where they lie. Others are packed, block after block, because another rank
// may describe the same message by a datatype that does lie in order: only the bytes of a block are equal everywhere.
#pragma once

#include "mpi/datatypes.h"
#include "mpi/handles.h"

#include <cstddef>

namespace coll::shim {

// Instead of the number of a block.
constexpr int no_block = -1;
constexpr int all_blocks = -2;

class Side {
 public:
  // A side without a part in the call. Never copied: words stored a moment ago are slow to load as vectors.
  Side() = default;
  Side(const Side &) = delete;
  Side &operator=(const Side &) = delete;

  void be_in_place() {
    packs_ = false;
    data_ = const_cast<void *>(COLL_IN_PLACE);
  }

  // `blocks` times `count` elements, one after the other.
  void describe(const void *buffer, MPI_Datatype handle, const Datatype *element, MPI_Count count, int blocks) {
    hold(buffer, handle, element, blocks);
    count_ = count;
    total_bytes_ = static_cast<std::size_t>(count) * static_cast<std::size_t>(blocks) * element->size_bytes;
    packs_ = total_bytes_ > 0 && !(element->vector_in_order || (blocks == 1 && element->in_order(count)));
    data_ = packs_ ? nullptr : const_cast<void *>(buffer);
  }

  // Of each block its own count and displacement, as MPI's v-forms have them, of int and int or of MPI_Count and MPI_Aint.
  // `bytes` has room for two numbers a block.
  // False when a count is negative, or the buffer is null and should not be.
  template <typename Count, typename Displ>
  bool describe(const void *buffer, MPI_Datatype handle, const Datatype *element, const Count *counts,
                const Displ *displs, int blocks, std::size_t *bytes);

  // What a block at MPI_BOTTOM would need; a null buffer of data in order is the program's mistake.
  bool good() const { return packs_ || data_ != nullptr || total_bytes_ == 0; }

  // Room for packing, 0 when none is needed, and where it is.
  std::size_t packed_bytes() const { return packs_ ? total_bytes_ : 0; }
  void pack_at(char *packed) {
    if (packs_) data_ = packed;
  }
  // Of what is packed: another handle for the same datatype.
  void retype(MPI_Datatype handle, const Datatype *element) {
    handle_ = handle;
    element_ = element;
  }
  MPI_Datatype datatype() const { return handle_; }

  // Packs a block, or all; nothing when the data lie in order. False when MPI refuses.
  bool load(int block) const { return !packs_ || move(block, true); }
  bool load() const { return !packs_ || move_all(true); }
  bool store() const { return !packs_ || move_all(false); }

  // For libcoll.
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

  // Set by describe(), for packing. Clearing them would take longer than the rest of a short call.
  const char *buffer_;
  MPI_Datatype handle_;
  const Datatype *element_;
  int blocks_;
  MPI_Count count_;     // of every block, in a regular form
  const void *displs_;  // of the type that wide_ tells
  bool wide_;           // MPI_Aint, not int

  std::size_t *byte_counts_ = nullptr;
  std::size_t *byte_displs_ = nullptr;
  std::size_t total_bytes_ = 0;
  bool packs_ = false;
  void *data_ = nullptr;
};

}  // namespace coll::shim
