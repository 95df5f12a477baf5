// SPDX-License-Identifier: BSD-3-Clause
// The shim's place in the progress of the MPI library: a function that every MPI call runs while it waits.
//
// Open MPI has a list of such functions, opal_progress_register(). MPICH 4.0 hides its own; over UCX its progress calls
// ucp_worker_progress() of another library in every round, and the shim stands in front of that.
#pragma once

namespace coll::shim {

// Installs `function`, which must not wait, for the rest of the process. Once, while MPI runs. False when this MPI library
// has no such place: the function is then never called.
bool hook_progress(void (*function)());

}  // namespace coll::shim
