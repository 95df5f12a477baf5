// SPDX-License-Identifier: BSD-3-Clause
// Splits a long message into pieces, so that one crosses between nodes while the node works on another.
#pragma once

#include "mpi/errors.h"
#include "mpi/library.h"

#include <algorithm>
#include <cstddef>

namespace coll::shim::two_level {

// Piece `number` of a message: `count` elements, or bytes, from `first` on.
struct Piece {
  std::size_t number;
  std::size_t first;
  std::size_t count;

  int slot() const { return static_cast<int>(number % 2); }
};

// Calls begin(0), begin(1), end(0), begin(2), end(1), ... for the pieces of `total`, so that at most two are in flight
// and begin() finds its slot free.
template <typename Begin, typename End>
void overlap(std::size_t total, std::size_t piece, Begin begin, End end) {
  const std::size_t pieces = (total + piece - 1) / piece;
  const auto nth = [&](std::size_t n) { return Piece{n, n * piece, std::min(piece, total - n * piece)}; };
  for (std::size_t n = 0; n <= pieces; n++) {
    if (n < pieces) begin(nth(n));
    if (n > 0) end(nth(n - 1));
  }
}

// One non-blocking MPI call for each of the two pieces in flight. If a call throws, others may stay incomplete: the
// communicator is unusable then, as after any error of MPI.
class Crossing {
 public:
  MPI_Request *start(const Piece &piece) {
    under_way_[piece.slot()] = true;
    return &requests_[piece.slot()];
  }
  // Returns at once if this rank has not started a call for the piece.
  void wait(const Piece &piece) {
    if (!under_way_[piece.slot()]) return;
    under_way_[piece.slot()] = false;
    check_mpi(mpi.Wait(&requests_[piece.slot()], MPI_STATUS_IGNORE));
  }

 private:
  MPI_Request requests_[2];
  bool under_way_[2] = {false, false};
};

}  // namespace coll::shim::two_level
