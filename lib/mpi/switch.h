// SPDX-License-Identifier: BSD-3-Clause
// Whether the user wants libcoll to serve this program: COLL_MPI and COLL_PROGRAMS.
#pragma once

namespace coll::shim {

// Returns why every call is forwarded, for the log; NULL if the program is to be served. The first call decides. Thread
// safe.
const char *switched_off();

}  // namespace coll::shim
