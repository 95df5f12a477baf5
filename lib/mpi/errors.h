// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/handles.h"

#include <coll/coll.h>

namespace coll::shim {

// What an MPI call returns for a status of libcoll. A failure goes through the communicator's error handler, in
// the fitting class and with libcoll's own words as its text.
int finish(MPI_Comm comm, coll_status status);

}  // namespace coll::shim
