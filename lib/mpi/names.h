// SPDX-License-Identifier: BSD-3-Clause
// Names of collectives in the log.
#pragma once

#include "mpi/communicators.h"

namespace coll::shim {

// Such as "ibcast".
const char *own_name(Collective collective);

}  // namespace coll::shim
