// SPDX-License-Identifier: BSD-3-Clause
// Splits a long message into chunks, so that one crosses between nodes while the node works on another.
#pragma once

#include "mpi/errors.h"
#include "mpi/library.h"

#include <algorithm>
#include <cstddef>

namespace coll::shim::two_level {

// Chunk `number` of a message: `count` elements, or bytes, from `first` on.
struct Chunk {
  std::size_t number;
  std::size_t first;
  std::size_t count;

  int slot() const { return static_cast<int>(number % 2); }
};

// Calls begin(0), begin(1), end(0), begin(2), end(1), ... for the chunks of `total`, so that at most two are in flight
// and begin() finds its slot free.
template <typename Begin, typename End>
void overlap(std::size_t total, std::size_t chunk, Begin begin, End end) {
  const std::size_t chunks = (total + chunk - 1) / chunk;
  const auto nth = [&](std::size_t n) { return Chunk{n, n * chunk, std::min(chunk, total - n * chunk)}; };
  for (std::size_t n = 0; n <= chunks; n++) {
    if (n < chunks) begin(nth(n));
    if (n > 0) end(nth(n - 1));
  }
}

// One non-blocking MPI call for each of the two chunks in flight. If a call throws, others may stay incomplete: the
// communicator is unusable then, as after any error of MPI.
class Transfers {
 public:
  MPI_Request *start(const Chunk &chunk) {
    in_flight_[chunk.slot()] = true;
    return &requests_[chunk.slot()];
  }
  // Returns at once if this rank has not started a call for the chunk.
  void wait(const Chunk &chunk) {
    if (!in_flight_[chunk.slot()]) return;
    in_flight_[chunk.slot()] = false;
    check_mpi(mpi.Wait(&requests_[chunk.slot()], MPI_STATUS_IGNORE));
  }

 private:
  MPI_Request requests_[2];
  bool in_flight_[2] = {false, false};
};

}  // namespace coll::shim::two_level
