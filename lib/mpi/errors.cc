// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/errors.h"

#include "mpi/library.h"
#include "mpi/log.h"
#include "mpi/progress.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

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
#ifdef MPIX_ERR_PROC_FAILED
    case COLL_ERR_PEER_DIED: return MPIX_ERR_PROC_FAILED;
#endif
    default: return MPI_ERR_OTHER;
  }
}

// When a rank dies, the launcher ends the job with that rank's exit status. This rank notices the death as early, and
// must not end the job first with its own status. Waits only once per process: if this process is still alive
// afterwards, the launcher lets the other ranks live.
void await_launcher() {
  using Clock = std::chrono::steady_clock;
  static std::atomic<bool> awaited{false};
  if (awaited.exchange(true)) return;
  for (const auto start = Clock::now(); Clock::now() - start < std::chrono::seconds(2);) {
    drive_mpi_progress(nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

// Returns the error class itself if the library does not provide a code with a text.
int error_code(coll_status status) {
  const char *detail = coll_last_error();
  log_line("%s%s%s", coll_strerror(status), detail[0] != '\0' ? ": " : "", detail);
  int code = class_of(status);
  // MPICH 4.0 confuses codes that are added to a predefined class with its own codes, and prints a wrong text.
  char text[MPI_MAX_ERROR_STRING];
  std::snprintf(text, sizeof text, "libcoll: %s%s%s", coll_strerror(status), detail[0] != '\0' ? ": " : "", detail);
  int added;
  if (over_open_mpi && mpi.Add_error_code(code, &added) == MPI_SUCCESS &&
      mpi.Add_error_string(added, text) == MPI_SUCCESS)
    code = added;
  if (status == COLL_ERR_PEER_DIED) await_launcher();
  return code;
}

namespace {

#ifdef OPEN_MPI
// As MPI_Comm_call_errhandler, which would report itself as the failed call. The function is not part of MPI, but
// exists in every release of Open MPI so far.
void handle(MPI_Comm comm, int code, const char *call) {
  using Invoke = int(MPI_Errhandler, void *, int, int, const char *);
  constexpr int of_communicator = 1;
  static const auto invoke = reinterpret_cast<Invoke *>(variable("ompi_errhandler_invoke"));
  MPI_Errhandler handler;
  if (invoke == nullptr || mpi.Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) {
    mpi.Comm_call_errhandler(comm, code);
    return;
  }
  invoke(handler, comm, of_communicator, code, call);
  mpi.Errhandler_free(&handler);
}
#else
// MPI_Abort prints that the program called it, unless this variable of MPICH suppresses the message.
void silence_abort() {
  constexpr const char *name = "MPIR_CVAR_SUPPRESS_ABORT_MESSAGE";
  int provided, index, count, yes = 1;
  MPI_T_cvar_handle handle;
  if (mpi.T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS &&
      mpi.T_cvar_get_index(name, &index) == MPI_SUCCESS &&
      mpi.T_cvar_handle_alloc(index, nullptr, &handle, &count) == MPI_SUCCESS)
    mpi.T_cvar_write(handle, &yes);
}

// MPI_Comm_call_errhandler would report itself as the failed call, without an error text.
void handle(MPI_Comm comm, int code, const char *call) {
  MPI_Errhandler handler = MPI_ERRORS_RETURN;
  if (mpi.Comm_get_errhandler(comm, &handler) == MPI_SUCCESS && handler == MPI_ERRORS_ARE_FATAL) {
    const char *detail = coll_last_error();
    fatal_line("Fatal error in %s: %s", call, detail[0] != '\0' ? detail : "libcoll failed");
    silence_abort();
    mpi.Abort(comm, code);
    std::_Exit(code);  // MPICH 5 returns if the launcher lets the others live
  }
  mpi.Comm_call_errhandler(comm, code);
  if (handler != MPI_ERRORS_RETURN) mpi.Errhandler_free(&handler);
}
#endif

}  // namespace

int finish_failed(MPI_Comm comm, coll_status status, const char *call) {
  const int code = error_code(status);
  handle(comm, code, call);
  return code;
}

int finish(MPI_Comm comm, const Failure &failure, const char *call) {
  if (failure.status != COLL_OK) return finish_failed(comm, failure.status, call);
  handle(comm, failure.code, call);
  return failure.code;
}

}  // namespace coll::shim
