// SPDX-License-Identifier: BSD-3-Clause
// What the calling thread's last failing call found wrong, with the remedy.
#pragma once

#include <string>

#include "coll/coll.h"

namespace coll {

// Keeps the text for coll_last_error() and returns the status, so that checks read `return failure(...)`.
coll_status failure(coll_status status, std::string text);
const char* last_error();
const char* status_text(coll_status status);
// What made a communicator unusable in the middle of an operation; null if the status alone does not tell.
const char* unusable_text(coll_status status);
// Of a start after the communicator was freed.
inline constexpr const char freed_text[] =
    "coll_start: the communicator of the request has been freed; free the request with coll_request_free()";

}  // namespace coll
