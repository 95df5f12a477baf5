// SPDX-License-Identifier: BSD-3-Clause
// The messages of one rank in a collective in which each block has its own peer, and perhaps its own datatype: what it sends,
// or what it receives. As Side, blocks that lie in order are used where they lie, and others are packed.
#pragma once

#include "mpi/datatypes.h"
#include "mpi/handles.h"

#include <coll/coll.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace coll::shim {

// An array of datatypes as C or as Fortran has them.
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

// One side as the program describes it: blocks of `count` and `type`, or each with counts[i] at displs[i], in bytes where
// each also has types[i].
template <typename Count, typename Displ>
struct Described {
  const void *buffer = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type = {};
  const Count *counts = nullptr;
  const Displ *displs = nullptr;
  Types types = {};
  bool irregular = false;
  bool of_types = false;
  bool one_block = false;  // the same one for every peer
};

class Edges {
 public:
  Edges() = default;
  Edges(const Edges &) = delete;
  Edges &operator=(const Edges &) = delete;
  ~Edges();

  // Adds block i of a side for `peer`. `copies`: it is packed in any case. False: the arguments are wrong. Throws
  // std::bad_alloc.
  template <typename Count, typename Displ>
  bool add(const Described<Count, Displ> &side, int i, int peer, bool copies = false);
  // Leaves out what moves nothing, on both sides.
  bool drops_empty = false;

  // Forgets the blocks, but keeps their memory.
  void clear();

  // Takes the memory that packing needs. Throws std::bad_alloc.
  void take_memory();
  // So that the program may free its datatypes meanwhile. False: MPI refuses.
  bool keep_types();
  // Pack, and unpack. False when MPI refuses.
  bool load();
  bool store();

  // Replaces what is in `messages`. Throws std::bad_alloc.
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
