// SPDX-License-Identifier: BSD-3-Clause
// The factor of a scaled sum, see coll_op_create_scaled_sum().
#pragma once

#include <cstddef>
#include <memory>

#include "coll/coll.h"

namespace coll::comm {

class Scaling {
 public:
  // `factor`: one element of the type, at any address. REQUIRES: COLL_PROD is defined for it. Throws std::bad_alloc.
  Scaling(const void* factor, coll_datatype type);

  coll_datatype type() const { return type_; }
  // to[i] = from[i] * factor, rounded to the type. to, from: [count], at any addresses; they do not overlap.
  void multiply(void* to, const void* from, size_t count) const;

 private:
  coll_datatype type_;
  size_t element_bytes_;
  std::unique_ptr<char[]> factors_;  // one block of equal elements: the second operand of the product kernel
};

}  // namespace coll::comm
