// SPDX-License-Identifier: BSD-3-Clause
// Arguments of collectives, blocking or not, as the decision whether to intercept them and libcoll need them.
#pragma once

#include "mpi/blocks.h"
#include "mpi/communicators.h"
#include "mpi/datatypes.h"
#include "mpi/handles.h"

#include <coll/coll.h>

#include <climits>
#include <cstddef>

namespace coll::shim {

// The send buffer as libcoll wants it. Open MPI lets a program name one buffer twice and means in place; MPICH
// calls it an error, and gets to say so.
inline bool sends_from(const void *send, const void *recv, const void **from) {
  *from = send == MPI_IN_PLACE ? COLL_IN_PLACE : send;
  if (send == recv) {
    if (!over_open_mpi) return false;
    *from = COLL_IN_PLACE;
  }
  return send != nullptr;
}

// Why a reduction of so many elements, which are none, is forwarded.
inline Why why_not(MPI_Count count) { return count == 0 ? Why::empty : Why::arguments; }

// What is known of `count` elements of a datatype.
struct Message {
  MPI_Count count;
  MPI_Datatype handle;
  const Datatype *element;

  Message(MPI_Count count, MPI_Datatype handle) : count(count), handle(handle), element(datatype_of(handle)) {}
  // Where most programs name the datatype of `other` again.
  Message(MPI_Count count, MPI_Datatype handle, const Message &other)
      : count(count), handle(handle), element(handle == other.handle ? other.element : datatype_of(handle)) {}
  bool known() const { return element != nullptr && count >= 0; }
  std::size_t bytes() const { return static_cast<std::size_t>(count) * element->size_bytes; }
  void describe(Side *side, const void *buffer, int blocks) const {
    side->describe(buffer, handle, element, count, blocks);
  }
};

// Why blocks of that kind are passed on by every rank; Why::count_ when they are taken.
inline Why obstacle(const Message &message) {
  if (message.element == nullptr) return Why::datatype;
  if (message.count < 0) return Why::arguments;
  if (message.bytes() == 0) return Why::empty;
  return message.bytes() > INT_MAX ? Why::size : Why::count_;
}

// One side of a v-form: `numbers` is the first or the second half of the communicator's. `element` is of `handle`.
template <typename Count, typename Displ>
bool make_side(const void *buffer, MPI_Datatype handle, const Datatype *element, const Count *counts,
               const Displ *displs, int ranks, std::size_t *numbers, Side *side) {
  return element != nullptr && counts != nullptr && displs != nullptr &&
         side->describe(buffer, handle, element, counts, displs, ranks, numbers);
}

// The side of one block.
inline void describe_own(Side *side, bool in_place, const Message &message, const void *buffer) {
  if (in_place) side->be_in_place();
  else message.describe(side, buffer, 1);
}

// Open MPI lets a program name its own block of the other buffer, and moves nothing; MPICH calls it an error, as libcoll
// does. `own` becomes in place then. Blocks that are packed lie elsewhere anyway.
inline void keep_own_block(Side &own, const Side &blocks, std::size_t offset_bytes) {
  if (over_open_mpi && own.data() != nullptr && blocks.data() != nullptr &&
      static_cast<const char *>(own.data()) == static_cast<const char *>(blocks.data()) + offset_bytes)
    own.be_in_place();
}

}  // namespace coll::shim
