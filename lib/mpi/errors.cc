// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/errors.h"

#include "mpi/below.h"
#include "mpi/log.h"

#include <cstdio>

namespace coll::shim {
namespace {

int class_of(coll_status status) {
  switch (status) {
    case COLL_OK: return MPI_SUCCESS;
    case COLL_ERR_ARG: return MPI_ERR_ARG;
    case COLL_ERR_COUNT: return MPI_ERR_COUNT;
    case COLL_ERR_ROOT: return MPI_ERR_ROOT;
    case COLL_ERR_TYPE: return MPI_ERR_TYPE;
    case COLL_ERR_OP: return MPI_ERR_OP;
    case COLL_ERR_BUFFER: return MPI_ERR_BUFFER;
    case COLL_ERR_NO_MEMORY: return MPI_ERR_NO_MEM;
    case COLL_ERR_TRUNCATE: return MPI_ERR_TRUNCATE;
    default: return MPI_ERR_OTHER;
  }
}

}  // namespace

// The class itself when no code with a text can be had.
int error_code(coll_status status) {
  const char *detail = coll_last_error();
  log_line("%s%s%s", coll_strerror(status), detail[0] != '\0' ? ": " : "", detail);
  int code = class_of(status);
#ifdef OPEN_MPI
  // MPICH 4.0 takes codes added to a class of its own for codes of its own, and prints something else.
  char text[MPI_MAX_ERROR_STRING];
  std::snprintf(text, sizeof text, "libcoll: %s%s%s", coll_strerror(status), detail[0] != '\0' ? ": " : "", detail);
  int added;
  if (found.Add_error_code(code, &added) == MPI_SUCCESS && found.Add_error_string(added, text) == MPI_SUCCESS)
    code = added;
#endif
  return code;
}

int finish_failed(MPI_Comm comm, coll_status status) {
  const int code = error_code(status);
  found.Comm_call_errhandler(comm, code);
  return code;
}

int finish(MPI_Comm comm, const Trouble &trouble) {
  if (trouble.status != COLL_OK) return finish(comm, trouble.status);
  found.Comm_call_errhandler(comm, trouble.code);
  return trouble.code;
}

}  // namespace coll::shim
