// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/pairs.h"

#include <algorithm>
#include <cstddef>
#include <functional>

namespace coll::shim {
namespace {

// If values are equal, the smaller location is the result.
template <typename Real, typename Better>
void locate(const void *in, void *inout, size_t count, coll_datatype, void *) {
  struct Pair {
    Real value;
    Real place;
  };
  auto *from = static_cast<const Pair *>(in);
  auto *to = static_cast<Pair *>(inout);
  for (std::size_t i = 0; i < count; i++) {
    if (Better()(from[i].value, to[i].value)) to[i] = from[i];
    else if (from[i].value == to[i].value) to[i].place = std::min(from[i].place, to[i].place);
  }
}

struct Operations {
  coll_op least;
  coll_op largest;
};
Operations operations[3];

template <typename Real>
Operations make() {
  Operations made{};
  coll_op_create(locate<Real, std::less<Real>>, 1, nullptr, &made.least);
  coll_op_create(locate<Real, std::greater<Real>>, 1, nullptr, &made.largest);
  return made;
}

}  // namespace

void create_pair_operations() {
  operations[static_cast<int>(RealPair::single)] = make<float>();
  operations[static_cast<int>(RealPair::twice)] = make<double>();
}

coll_op location_of(RealPair pair, coll_op op) {
  const Operations &of_pair = operations[static_cast<int>(pair)];
  return op == COLL_MINLOC ? of_pair.least : op == COLL_MAXLOC ? of_pair.largest : 0;
}

}  // namespace coll::shim
