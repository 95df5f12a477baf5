// SPDX-License-Identifier: BSD-3-Clause
// Inputs with exactly known results: small whole numbers that differ between neighbouring elements, iterations and
// ranks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coll/coll.h"

namespace coll::tools {

class Pattern {
 public:
  explicit Pattern(coll_datatype type) : type_(type) {}

  size_t element_bytes() const { return coll_datatype_size(type_); }
  // The operation that count_wrong() expects: sum if the type has it, else minloc, bitwise or, logical or.
  coll_op op() const;
  void fill(void* vector, size_t count, uint32_t seed, int rank) const;
  // Returns how many elements of `vector` differ from op over the inputs of ranks first .. first + ranks - 1. `from`:
  // index of its first element.
  int64_t count_wrong(const void* vector, size_t count, uint32_t seed, int first, int ranks, size_t from = 0) const;

 private:
  coll_datatype type_;
};

}  // namespace coll::tools
