// SPDX-License-Identifier: BSD-3-Clause
// As fortran.h, for non-blocking collectives.
#pragma once

#include "mpi/fortran.h"
#include "mpi/library.h"
#include "mpi/waits.h"

#include <vector>

namespace coll::shim {
namespace {

#ifdef OPEN_MPI
inline Int request_number(MPI_Request request) { return mpi.Request_c2f(request); }
inline MPI_Request request_of(Int number) { return mpi.Request_f2c(number); }
#else
inline Int request_number(MPI_Request request) { return request; }
inline MPI_Request request_of(Int number) { return number; }
#endif

// As handles_in(), for Fortran's requests.
[[maybe_unused]] inline std::vector<MPI_Request> handles_of(int count, const Int *requests) {
  std::vector<MPI_Request> handles;
  for (int i = 0; i < count; i++) handles.push_back(request_of(requests[i]));
  return handles;
}

// Calls `start(handle)`, which starts the collective or returns `not_intercepted`; then the call is forwarded.
template <void note(MPI_Request, coll_stats_part) = note_forwarded, typename Start, typename Next,
          typename... Arguments>
void finish_or_forward_start(Start start, Int *request, Next next, Int *ierror, Arguments... arguments) {
  MPI_Request handle;
  const int result = start(&handle);
  if (result == MPI_SUCCESS) *request = request_number(handle);
  if (result == not_intercepted) forward_start<note>([&] { return request_of(*request); }, next, arguments..., ierror);
  else if (ierror != nullptr) *ierror = result;
}

}  // namespace
}  // namespace coll::shim
