// SPDX-License-Identifier: BSD-3-Clause
// Blocks whose length at this rank is not the one that its peers exchange: the program's mistake, which only this rank sees.
//
// The peers are served. A rank that forwarded such a call would leave them waiting, or go on to the next collective while
// they are still in this one. So it takes part with blocks of the exchanged length in memory of its own, and fails then.
#pragma once

#include "mpi/datatypes.h"
#include "mpi/handles.h"

#include <cstddef>
#include <memory>

namespace coll::shim {

class Misfit {
 public:
  // Room for `blocks` blocks of `bytes`.
  Misfit(int blocks, std::size_t bytes);

  // False when there is no memory.
  bool good() const { return room_ != nullptr; }
  char *data() const { return room_.get(); }
  int count() const { return static_cast<int>(bytes_); }

  // Copies as much of each block as both sides have: from blocks of `count` elements at `buffer`, or to them (whole elements
  // where these are not contiguous). False when MPI refuses.
  bool load(const void *buffer, MPI_Count count, MPI_Datatype type, const Datatype &element);
  bool store(void *buffer, MPI_Count count, MPI_Datatype type, const Datatype &element) const;

 private:
  std::unique_ptr<char[]> room_;
  int blocks_;
  std::size_t bytes_;
};

}  // namespace coll::shim
