// SPDX-License-Identifier: BSD-3-Clause
// What libpmix knows of the job. The library is opened when it is needed, so libcoll does not depend on it.
#pragma once

#include <cstdint>
#include <string>

namespace coll::launch {

struct PmixJob {
  uint32_t ranks = 0, ranks_here = 0;  // of the whole job; on this node
  std::string problem;                 // "": the numbers are valid
};

// Of the job with that namespace, which has started this process. Asks once per process and namespace: libpmix starts a
// thread and connects to the launcher, and ends both before this returns. One thread at a time may call it.
const PmixJob& pmix_job(const std::string& name);

}  // namespace coll::launch
