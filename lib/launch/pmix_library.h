// SPDX-License-Identifier: BSD-3-Clause
// Queries libpmix for the size of the job. The library is opened when it is first needed, so libcoll does not depend on
// it.
#pragma once

#include <cstdint>
#include <string>

namespace coll::launch {

struct PmixJob {
  uint32_t ranks = 0, ranks_here = 0;  // of the whole job; on this node
  std::string problem;                 // "": the numbers are valid
};

// Returns the sizes of the job with namespace `name`, which has started this process. It queries libpmix once per
// process and namespace: libpmix starts a thread and connects to the launcher, and ends both before this function
// returns. Not thread-safe.
const PmixJob& pmix_job(const std::string& name);

}  // namespace coll::launch
