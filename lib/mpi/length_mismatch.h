// SPDX-License-Identifier: BSD-3-Clause
// Blocks whose length on this rank differs from the length that its peers exchange: a mistake of the program, which
// only this rank can see.
//
// The rank still serves its peers. If it forwarded the call, the peers would wait without end, or it would enter the
// next collective while they are in this one. So it takes part with blocks of the exchanged length in temporary memory,
// and then returns an error.
#pragma once

#include "mpi/datatypes.h"
#include "mpi/handles.h"

#include <cstddef>
#include <memory>

namespace coll::shim {

class LengthMismatch {
 public:
  // Allocates `blocks` zeroed blocks of `bytes` bytes.
  LengthMismatch(int blocks, std::size_t bytes);

  // Whether the allocation succeeded.
  bool good() const { return room_ != nullptr; }
  char *data() const { return room_.get(); }
  int count() const { return static_cast<int>(bytes_); }

  // load() copies from blocks of `count` elements at `buffer`, and store() to them, as much of each block as both sides
  // have (whole elements if they are not contiguous). They return false if MPI reports an error.
  bool load(const void *buffer, MPI_Count count, MPI_Datatype type, const Datatype &element);
  bool store(void *buffer, MPI_Count count, MPI_Datatype type, const Datatype &element) const;

 private:
  std::unique_ptr<char[]> room_;
  int blocks_;
  std::size_t bytes_;
};

}  // namespace coll::shim
