// SPDX-License-Identifier: BSD-3-Clause
// Inputs whose results are known exactly: small whole numbers, different in neighbouring elements, iterations and ranks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coll/coll.h"

namespace coll::tools {

class Pattern {
 public:
  explicit Pattern(coll_datatype type) : type_(type) {}

  size_t element_bytes() const { return coll_datatype_size(type_); }
  // The operation that count_wrong() expects: sum where the type has one, else minloc, bitwise or, logical or.
  coll_op op() const;
  void fill(void* vector, size_t count, uint32_t seed, int rank) const;
  // Elements of `vector` that are not op over the inputs of ranks first .. first + ranks - 1 from element `from` on.
  int64_t count_wrong(const void* vector, size_t count, uint32_t seed, int first, int ranks, size_t from = 0) const;

 private:
  coll_datatype type_;
};

}  // namespace coll::tools
