// SPDX-License-Identifier: BSD-3-Clause
// Arguments of blocking and non-blocking collectives, converted for the decision whether to intercept the call and for
// libcoll.
#pragma once

#include "mpi/blocks.h"
#include "mpi/communicators.h"
#include "mpi/datatypes.h"
#include "mpi/handles.h"

#include <coll/coll.h>

#include <algorithm>
#include <climits>
#include <cstddef>

namespace coll::shim {

// Sets `*from` to the send buffer that libcoll gets. Returns false if the MPI library must report an error: the buffer
// is NULL, or, under MPICH, equal to the receive buffer. Open MPI takes equal buffers to mean in place.
inline bool sends_from(const void *send, const void *recv, const void **from) {
  *from = send == MPI_IN_PLACE ? COLL_IN_PLACE : send;
  if (send == recv) {
    if (!over_open_mpi) return false;
    *from = COLL_IN_PLACE;
  }
  return send != nullptr;
}

// Why a reduction of `count` elements, at most 0, is forwarded.
inline Why why_not(MPI_Count count) { return count == 0 ? Why::empty : Why::arguments; }

// `count` elements of a datatype, and what the shim knows of the datatype.
struct Message {
  MPI_Count count;
  MPI_Datatype handle;
  const Datatype *element;

  Message(MPI_Count count, MPI_Datatype handle)
      : count(count), handle(handle), element(element_of(handle, count == 0)) {}
  // Faster if `handle` is the datatype of `other`, as in most programs. What `other` says of no elements does not hold for
  // some.
  Message(MPI_Count count, MPI_Datatype handle, const Message &other)
      : count(count),
        handle(handle),
        element(handle == other.handle && other.count != 0 ? other.element : element_of(handle, count == 0)) {}
  bool known() const { return element != nullptr && count >= 0; }
  std::size_t bytes() const { return static_cast<std::size_t>(count) * element->size_bytes; }
  void describe(Side *side, const void *buffer, int blocks) const {
    side->describe(buffer, handle, element, count, blocks);
  }
};

// Why every rank forwards a collective on such blocks; Why::count_ if it is intercepted.
inline Why obstacle(const Message &message) {
  if (message.element == nullptr) return Why::datatype;
  if (message.count < 0) return Why::arguments;
  if (message.bytes() == 0) return Why::empty;
  return message.bytes() > INT_MAX ? Why::size : Why::count_;
}

// Describes one side of a v-variant. `numbers`: the first or the second half of the communicator's. `element` is the
// description of `handle`. Returns false if an argument is wrong.
template <typename Count, typename Displ>
bool make_side(const void *buffer, MPI_Datatype handle, const Datatype *element, const Count *counts,
               const Displ *displs, int ranks, std::size_t *numbers, Side *side) {
  if (counts == nullptr || displs == nullptr) return false;
  if (element == nullptr) [[unlikely]]
    element = element_of(handle, std::all_of(counts, counts + ranks, [](Count count) { return count == 0; }));
  return element != nullptr && side->describe(buffer, handle, element, counts, displs, ranks, numbers);
}

// Describes the side of a rank's own, single block.
inline void describe_own(Side *side, bool in_place, const Message &message, const void *buffer) {
  if (in_place) side->set_in_place();
  else message.describe(side, buffer, 1);
}

// Marks `own` as in place if it is this rank's block of the other buffer. Open MPI accepts that and moves nothing;
// MPICH reports an error, as libcoll does. Packed blocks are in other memory anyway.
inline void keep_own_block(Side &own, const Side &blocks, std::size_t offset_bytes) {
  if (over_open_mpi && own.data() != nullptr && blocks.data() != nullptr &&
      static_cast<const char *>(own.data()) == static_cast<const char *>(blocks.data()) + offset_bytes)
    own.set_in_place();
}

}  // namespace coll::shim
