// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/padding.h"

#include "mpi/packing.h"

#include <algorithm>
#include <cstring>

namespace coll::shim {

Padded::Padded(Communicator &communicator, const Reduction &reduction, const void *from, const void *recv,
               std::size_t inputs, std::size_t outputs)
    : reduction_(reduction) {
  const bool in_place = from == COLL_IN_PLACE;
  const std::size_t element = reduction.element_bytes;
  const std::size_t room = std::max(inputs, outputs) * element;
  result_ = communicator.packing_space(3 * room);
  if (result_ == nullptr) return;
  if (!in_place) operands_ = result_ + room;
  packed_ = result_ + 2 * room;
  if (inputs == 0) return;
  const std::size_t data = (inputs - 1) * element + reduction.data_end_bytes;
  std::memcpy(in_place ? result_ : operands_, in_place ? recv : from, data);
}

bool Padded::store(void *recv, std::size_t outputs) const {
  if (outputs == 0) return true;
  const auto count = static_cast<int>(outputs);
  const std::size_t bytes = outputs * reduction_.data_bytes;
  return pack(result_, count, reduction_.datatype, packed_, bytes) &&
         unpack(packed_, bytes, recv, count, reduction_.datatype);
}

}  // namespace coll::shim
