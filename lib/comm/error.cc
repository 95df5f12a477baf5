// SPDX-License-Identifier: BSD-3-Clause
#include "comm/error.h"

#include <cstdio>

namespace coll {

namespace {
// A plain array: the text must survive thread-exit order and cost nothing to threads that never fail.
thread_local char text_of_thread[512];
}  // namespace

coll_status failure(coll_status status, std::string text) {
  std::snprintf(text_of_thread, sizeof text_of_thread, "%s", text.c_str());
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
    case COLL_ERR_PEER_DIED: return "a rank that was waited for has ended";
    case COLL_ERR_NO_MEMORY: return "out of memory or descriptors";
    case COLL_ERR_UNAVAILABLE: return "forced choice is not available";
    case COLL_ERR_TOPOLOGY: return "topology description cannot be read";
    case COLL_ERR_BOOTSTRAP: return "bootstrap failed";
    case COLL_ERR_STATE: return "call does not fit the object's state";
    case COLL_ERR_SYSTEM: return "a system call failed";
    case COLL_ERR_TRUNCATE: return "a rank sent more than this one takes";
  }
  return "unknown status";
}

}  // namespace coll
