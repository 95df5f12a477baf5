// SPDX-License-Identifier: BSD-3-Clause
// Elements in a device's memory (devices.h), and their copy in host memory, where they have the same displacements.
#pragma once

#include "mpi/datatypes.h"
#include "mpi/devices.h"
#include "mpi/handles.h"

#include <coll/coll.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace coll::shim {

class HostCopy {
 public:
  HostCopy() = default;
  // Makes room for `count` elements of a datatype at `buffer`, if they are in a device's memory. `stores`: store() will
  // be called, perhaps after the program has freed the datatype. Throws std::bad_alloc.
  HostCopy(const void *buffer, MPI_Count count, MPI_Datatype datatype, const Datatype &element, bool stores);

  // False if the elements are in host memory. Then host() is their buffer, and load() and store() do nothing.
  bool needed() const { return room_ != nullptr; }
  void *host() const { return host_; }

  // Copies everything from the first to the last byte of data to the host.
  bool load() const;
  // Copies the data to the device. Gaps between the data keep their contents there.
  bool store() const;

 private:
  void find_data(MPI_Count count, MPI_Datatype datatype, const Datatype &element);

  char *device_ = nullptr;  // the program's buffer
  char *host_ = nullptr;    // where that buffer would begin in the copy
  Part all_{};
  std::vector<Part> data_;  // what store() copies
  std::unique_ptr<char[]> room_;
};

// What a reduction reads and writes, if it is in a device's memory.
class ReductionCopies {
 public:
  // As the arguments of coll_allreduce(); `inputs` elements are read and `outputs` are written. Throws std::bad_alloc.
  ReductionCopies(const void *from, std::size_t inputs, void *recv, std::size_t outputs, MPI_Datatype datatype);

  bool any() const { return operands_.needed() || result_.needed(); }
  const void *from() const { return in_place_ ? COLL_IN_PLACE : operands_.host(); }
  void *recv() const { return result_.host(); }
  bool load() const { return operands_.load() && (!in_place_ || result_.load()); }
  bool store() const { return !stores_ || result_.store(); }

 private:
  bool in_place_, stores_;
  HostCopy operands_, result_;
};

}  // namespace coll::shim
