// SPDX-License-Identifier: BSD-3-Clause
#include "comm/error.h"

#include <algorithm>
#include <cstddef>

namespace coll {

namespace {
// A plain array has no destructor that could run too early at thread exit, and threads that never fail pay nothing for
// it.
thread_local char text_of_thread[512];
}  // namespace

coll_status failure(coll_status status, std::string_view text) {
  const size_t length = std::min(text.size(), sizeof text_of_thread - 1);
  std::copy_n(text.data(), length, text_of_thread);
  text_of_thread[length] = '\0';
  return status;
}

const char* last_error() { return text_of_thread; }

const char* status_text(coll_status status) {
  switch (status) {
    case COLL_OK: return "success";
    case COLL_ERR_ARG: return "invalid argument";
    case COLL_ERR_COUNT: return "invalid count";
    case COLL_ERR_ROOT: return "invalid root";
    case COLL_ERR_TYPE: return "unknown datatype";
    case COLL_ERR_OP: return "operation unknown or not defined for the datatype";
    case COLL_ERR_BUFFER: return "invalid buffer";
    case COLL_ERR_MISMATCH: return "ranks called different collectives";
    case COLL_ERR_PEER_DIED: return "a rank of the communicator has exited or failed";
    case COLL_ERR_NO_MEMORY: return "out of memory or file descriptors";
    case COLL_ERR_UNAVAILABLE: return "a transport or algorithm that was requested cannot be used here";
    case COLL_ERR_TOPOLOGY: return "invalid topology description";
    case COLL_ERR_BOOTSTRAP: return "the ranks cannot form a communicator";
    case COLL_ERR_STATE: return "the object is not in a state that allows this call";
    case COLL_ERR_SYSTEM: return "a system call failed";
    case COLL_ERR_TRUNCATE: return "message truncated: a rank sent more than this rank receives";
    case COLL_ERR_ABORTED: return "the communicator was aborted";
  }
  return "unknown status";
}

const char* unusable_text(coll_status status) {
  switch (status) {
    case COLL_ERR_NO_MEMORY:
      return "out of memory in the middle of an operation; the communicator is unusable and must be freed";
    case COLL_ERR_PEER_DIED:
      return "a rank exited or failed during the operation; the communicator is unusable and must be freed";
    case COLL_ERR_ABORTED: return "a rank aborted the communicator; it is unusable and must be freed";
    default: return nullptr;
  }
}

}  // namespace coll
