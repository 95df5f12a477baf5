// SPDX-License-Identifier: BSD-3-Clause
// As fortran.h, for those of non-blocking collectives.
#pragma once

#include "mpi/below.h"
#include "mpi/fortran.h"

namespace coll::shim {
namespace {

#ifdef OPEN_MPI
inline Int request_number(MPI_Request request) { return found.Request_c2f(request); }
#else
inline Int request_number(MPI_Request request) { return request; }
#endif

// `start(handle)` starts the collective, or says that it is to be passed on.
template <typename Start, typename Next, typename... Arguments>
void settle_started(Start start, Int *request, Next next, Int *ierror, Arguments... arguments) {
  MPI_Request handle;
  const int result = start(&handle);
  if (result == MPI_SUCCESS) *request = request_number(handle);
  settle(result, next, ierror, arguments...);
}

}  // namespace
}  // namespace coll::shim
