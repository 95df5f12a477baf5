// SPDX-License-Identifier: BSD-3-Clause
// The types behind the opaque handles of coll.h, and the guard that turns exceptions into statuses.
#pragma once

#include <exception>
#include <memory>
#include <new>

#include "coll/coll.h"
#include "comm/comm.h"
#include "comm/error.h"

// Handles are deleted by the functions that free them in coll.h. Requests hold the Comm, not the coll_comm.
struct coll_comm {
  std::shared_ptr<coll::comm::Comm> comm;
};

struct coll_request {
  coll::comm::Request request;
};

namespace coll::api {

// Calls `body` and converts its exceptions, which are all std::exception, to COLL_ERR_NO_MEMORY or COLL_ERR_SYSTEM with a
// message. Throws nothing.
template <typename Body>
coll_status guarded(Body body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return failure(COLL_ERR_NO_MEMORY, "out of memory; use fewer ranks or smaller buffers on this node");
  } catch (const std::exception& e) { return failure(COLL_ERR_SYSTEM, e.what()); }
}

}  // namespace coll::api
