// SPDX-License-Identifier: BSD-3-Clause
// collctl run --mpi: starts an MPI program with the launcher of its MPI library and the shim preloaded into its ranks.
#pragma once

#include <string>
#include <vector>

namespace coll::tools {

struct MpiRun {
  std::string library;  // "openmpi" or "mpich"
  int ranks = 0;
  bool bind = true, tag = false;
  std::vector<std::string> program;
};

// Replaces this process by the launcher. Throws Failure if the launcher or the shim is not found or cannot be started.
[[noreturn]] void run_under_mpi(const MpiRun& run);

}  // namespace coll::tools
