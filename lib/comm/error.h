// SPDX-License-Identifier: BSD-3-Clause
// The error message of the calling thread's last failing call: what is wrong and how to fix it.
#pragma once

#include <string>
#include <string_view>

#include "coll/coll.h"

namespace coll {

// Stores the message for coll_last_error(), cut to 511 bytes, and returns the status: `return failure(...)`. Throws
// nothing.
coll_status failure(coll_status status, std::string_view text);
const char* last_error();
const char* status_text(coll_status status);
// The message for a status that makes a communicator unusable during an operation; null for any other status.
const char* unusable_text(coll_status status);
// The message of a start after the communicator was freed.
inline constexpr const char freed_text[] =
    "coll_start: the communicator of the request has been freed; free the request with coll_request_free()";

}  // namespace coll
