// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/ending.h"

#include "mpi/communicators.h"

namespace coll::shim {

constinit thread_local const Ending *Ending::innermost = nullptr;

Ending::Ending(MPI_Comm comm) : comm_(comm), outer_(innermost) {
  release(comm);
  innermost = this;
}

bool Ending::ends(MPI_Comm comm) {
  for (const Ending *ending = innermost; ending != nullptr; ending = ending->outer_)
    if (ending->comm_ == comm) return true;
  return false;
}

}  // namespace coll::shim
