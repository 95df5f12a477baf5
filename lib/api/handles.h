// SPDX-License-Identifier: BSD-3-Clause
// The types behind the opaque handles of coll.h, and the guard that lets no exception leave the library.
#pragma once

#include <exception>
#include <memory>
#include <new>

#include "coll/coll.h"
#include "comm/comm.h"
#include "comm/error.h"

struct coll_comm {
  std::shared_ptr<coll::comm::Comm> comm;
};

struct coll_request {
  coll::comm::Request request;
};

namespace coll::api {

// Calls `body`, which may throw, and converts exceptions to NO_MEMORY or SYSTEM with an error message.
template <typename Body>
coll_status guarded(Body body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return failure(COLL_ERR_NO_MEMORY, "out of memory");
  } catch (const std::exception& e) { return failure(COLL_ERR_SYSTEM, e.what()); }
}

}  // namespace coll::api
