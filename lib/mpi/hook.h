// SPDX-License-Identifier: BSD-3-Clause
// The shim's hook in the progress of the MPI library: a function that every waiting MPI call runs.
//
// Open MPI has a list of such functions, opal_progress_register(). MPICH 4.0 does not export its own list; over UCX its
// progress calls ucp_worker_progress() of another library in every round, which the shim interposes.
#pragma once

namespace coll::shim {

// Installs `function`, which must not wait, for the rest of the process. Must be called once, after MPI_Init. Returns
// false if this MPI library offers no hook: the function is then never called.
bool hook_progress(void (*function)());

}  // namespace coll::shim
