// SPDX-License-Identifier: BSD-3-Clause
// User-defined operations on elements with gaps, such as a struct of a double and an int.
//
// The gaps belong to the program: their contents in the receive buffer must not change, and there may be no memory
// after the data of the last element. So the operation works on copies, of which only the data reaches the receive
// buffer. This is meant for few elements: longer vectors are forwarded, because packing them takes as long as MPI's own
// reduction.
#pragma once

#include "mpi/call.h"
#include "mpi/operations.h"

#include <cstddef>

namespace coll::shim {

constexpr std::size_t longest_padded_bytes = std::size_t{64} << 10;

// Whether there are too many elements. The same on all ranks, as both arguments are.
inline bool too_long(const Reduction &reduction, std::size_t elements) {
  return reduction.padded && elements > longest_padded_bytes / reduction.element_bytes;
}

// Copies of one rank's operands and result, in the communicator's packing memory.
class Padded {
 public:
  // Copies `inputs` elements from `from`, or from the receive buffer if `from` is COLL_IN_PLACE.
  Padded(Communicator &communicator, const Reduction &reduction, const void *from, const void *recv, std::size_t inputs,
         std::size_t outputs);

  // Whether there was memory for the copies.
  bool good() const { return result_ != nullptr; }
  const void *from() const { return operands_ != nullptr ? operands_ : COLL_IN_PLACE; }
  void *recv() const { return result_; }
  // Copies the data of `outputs` elements to the program's receive buffer. Returns false if MPI reports an error.
  bool store(void *recv, std::size_t outputs) const;

 private:
  const Reduction &reduction_;
  char *result_;
  char *operands_ = nullptr;
  char *packed_ = nullptr;
};

// Performs a reduction on such elements by perform(from, recv), which returns the value of the MPI call.
template <typename Perform>
[[gnu::noinline]] int reduce_padded(Call &call, const Reduction &reduction, const void *from, std::size_t inputs,
                                    void *recv, std::size_t outputs, Perform perform) {
  const Padded copies(call.communicator(), reduction, from, recv, inputs, outputs);
  if (!copies.good()) return call.finish(COLL_ERR_NO_MEMORY);
  const int result = perform(copies.from(), copies.recv());
  return result == MPI_SUCCESS && !copies.store(recv, outputs) ? call.fail(COLL_ERR_TYPE) : result;
}

}  // namespace coll::shim
