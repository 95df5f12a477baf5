// SPDX-License-Identifier: BSD-3-Clause
// User-defined operations on elements with gaps, such as a struct of a double and an int.
//
// The gaps belong to the program: what they hold in the receive buffer stays, and behind the last element there may be no
// memory. So the operation works on copies, of which only the data go into the receive buffer. Meant for few elements:
// longer vectors are forwarded, since packing them takes as long as MPI's own reduction.
#pragma once

#include "mpi/operations.h"
#include "mpi/taking.h"

#include <cstddef>

namespace coll::shim {

constexpr std::size_t longest_padded_bytes = std::size_t{64} << 10;

// Whether `elements` are too many. Equal at all ranks, as both arguments are.
inline bool too_long(const Reduction &reduction, std::size_t elements) {
  return reduction.padded && elements > longest_padded_bytes / reduction.element_bytes;
}

// Copies of one rank's operands and result.
class Padded {
 public:
  // Of `inputs` elements at `from`, or in the receive buffer where `from` is COLL_IN_PLACE.
  Padded(Communicator &communicator, const Reduction &reduction, const void *from, const void *recv, std::size_t inputs,
         std::size_t outputs);

  // False when there is no memory.
  bool good() const { return result_ != nullptr; }
  const void *from() const { return operands_ != nullptr ? operands_ : COLL_IN_PLACE; }
  void *recv() const { return result_; }
  // Moves the data of `outputs` elements to the program's receive buffer. False when MPI refuses.
  bool store(void *recv, std::size_t outputs) const;

 private:
  const Reduction &reduction_;
  char *result_;
  char *operands_ = nullptr;
  char *packed_ = nullptr;
};

// Carries out a reduction on such elements by perform(from, recv), which returns what the call returns.
template <typename Perform>
[[gnu::noinline]] int reduce_padded(Taking &call, const Reduction &reduction, const void *from, std::size_t inputs,
                                    void *recv, std::size_t outputs, Perform perform) {
  const Padded copies(call.communicator(), reduction, from, recv, inputs, outputs);
  if (!copies.good()) return call.finish(COLL_ERR_NO_MEMORY);
  const int result = perform(copies.from(), copies.recv());
  return result == MPI_SUCCESS && !copies.store(recv, outputs) ? call.fail(COLL_ERR_TYPE) : result;
}

}  // namespace coll::shim
