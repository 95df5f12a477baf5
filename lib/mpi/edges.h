// SPDX-License-Identifier: BSD-3-Clause
// The messages of one rank in a collective in which each block has its own peer, and perhaps its own datatype: what the
// rank sends, or what it receives. As in Side, blocks that are contiguous in sending order are used in place, and
// others are packed, as are those in a device's memory.
#pragma once

#include "mpi/datatypes.h"
#include "mpi/handles.h"

#include <coll/coll.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace coll::shim {

// An array of datatypes of C, or of Fortran's handles.
class Types {
 public:
  Types() = default;
  Types(const MPI_Datatype *types) : types_(types) {}
  static Types of_fortran(const int *types) {
    Types array;
    array.numbers_ = types;
    return array;
  }
  explicit operator bool() const { return types_ != nullptr || numbers_ != nullptr; }
  MPI_Datatype operator[](int i) const;

 private:
  const MPI_Datatype *types_ = nullptr;
  const int *numbers_ = nullptr;
};

// The arguments of one side of a call: blocks of `count` elements of `type`; or blocks of counts[i] elements at
// displs[i], in elements; with an array of types, blocks of types[i] at displs[i] bytes.
template <typename Count, typename Displ>
struct SideArguments {
  const void *buffer = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type = {};
  const Count *counts = nullptr;
  const Displ *displs = nullptr;
  Types types = {};
  bool irregular = false;
  bool of_types = false;
  bool one_block = false;  // all peers get the same block
};

class Edges {
 public:
  Edges() = default;
  Edges(const Edges &) = delete;
  Edges &operator=(const Edges &) = delete;
  ~Edges();

  // Adds block i of a side for `peer`. `copies`: pack it even if it is contiguous. Returns false if the arguments are
  // wrong. Throws std::bad_alloc.
  template <typename Count, typename Displ>
  bool add(const SideArguments<Count, Displ> &side, int i, int peer, bool copies = false);
  // Leave out blocks without data; must be the same on both sides.
  bool drops_empty = false;

  // Removes all blocks, but keeps their memory for reuse.
  void clear();

  // Allocates the memory for packing. Throws std::bad_alloc.
  void take_memory();
  // Duplicates the datatypes, so that the program may free its own. Returns false if MPI reports an error.
  bool keep_types();
  // Pack, and unpack, all blocks. Return false if MPI reports an error.
  bool load();
  bool store();

  // Replaces the contents of `messages` by this side's messages, which point to memory of this object or of the
  // program. Throws std::bad_alloc.
  void list(std::vector<coll_outgoing> &messages) const;
  void list(std::vector<coll_incoming> &messages) const;

 private:
  struct Edge {
    int peer;
    char *data;
    MPI_Count count;
    MPI_Datatype type;
    Datatype element;
    std::size_t bytes;
    bool packs;
    bool duplicated;
    std::size_t packed_at;
  };
  const char *data_of(const Edge &edge) const { return edge.packs ? packed_.get() + edge.packed_at : edge.data; }

  std::vector<Edge> edges_;
  std::size_t packed_bytes_ = 0, packed_room_ = 0;
  std::unique_ptr<char[]> packed_;
};

}  // namespace coll::shim
