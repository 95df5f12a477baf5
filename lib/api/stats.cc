// SPDX-License-Identifier: BSD-3-Clause
// What coll/shim.h offers to the MPI shims: settings and statistics.
#include "comm/stats.h"
#include "api/handles.h"
#include "coll/shim.h"
#include "config/config.h"

using coll::failure;
using coll::api::guarded;

extern "C" {

const char* coll_setting(const char* name) {
  try {
    return name == nullptr ? nullptr : coll::config::value(name);
  } catch (const std::bad_alloc&) { return nullptr; }
}

coll_status coll_stats_forwarded(const char* collective, const char* why, size_t bytes) {
  return guarded([&] {
    if (collective == nullptr || why == nullptr)
      return failure(COLL_ERR_ARG, "coll_stats_forwarded: collective and why must not be NULL");
    coll::comm::stats::begin(0);
    if (coll::comm::stats::wanted()) coll::comm::stats::passed_on(collective, why, bytes);
    return COLL_OK;
  });
}

coll_status coll_stats_write(int rank) {
  return guarded([&] {
    if (coll::comm::stats::write(rank)) return COLL_OK;
    return failure(
        COLL_ERR_SYSTEM,
        "coll_stats_write: cannot write the file that COLL_STATS names; name a file in a writable directory");
  });
}

}  // extern "C"
