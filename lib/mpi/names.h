// SPDX-License-Identifier: BSD-3-Clause
// What the log calls a collective.
#pragma once

#include "mpi/communicators.h"

namespace coll::shim {

// "ibcast".
const char *own_name(Collective collective);

}  // namespace coll::shim
