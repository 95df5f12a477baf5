// SPDX-License-Identifier: BSD-3-Clause
// The functions of coll/shim.h for the MPI shims: settings, statistics and names.
#include "comm/stats.h"

#include <new>

#include "api/handles.h"
#include "coll/shim.h"
#include "config/config.h"
#include "config/programs.h"

using coll::failure;
using coll::api::guarded;
namespace stats = coll::comm::stats;

extern "C" {

const char* coll_setting(const char* name) {
  try {
    return name == nullptr ? nullptr : coll::config::value(name);
  } catch (const std::bad_alloc&) { return nullptr; }
}

int coll_program_is_served(void) {
  try {
    const char* list = coll::config::value("COLL_PROGRAMS");
    return list == nullptr || coll::config::serves(list, coll::config::Program::of_process()) ? 1 : 0;
  } catch (const std::bad_alloc&) { return 1; }
}

int coll_stats_begin(int rank) {
  try {
    stats::begin(rank);
  } catch (const std::bad_alloc&) { return 0; }
  return stats::wanted() ? 1 : 0;
}

coll_status coll_stats_forwarded(const char* function, const char* collective, const char* why, size_t bytes,
                                 double seconds) {
  return guarded([&] {
    if (function == nullptr || collective == nullptr || why == nullptr)
      return failure(COLL_ERR_ARG, "coll_stats_forwarded: function, collective and why must not be NULL");
    stats::begin(0);
    if (stats::wanted()) stats::count_forwarded(function, collective, why, bytes, seconds);
    return COLL_OK;
  });
}

void coll_stats_inside(const char* function) { stats::set_function(function); }

coll_status coll_stats_spent(const char* function, coll_stats_part part, double seconds) {
  return guarded([&] {
    if (function == nullptr) return failure(COLL_ERR_ARG, "coll_stats_spent: function must not be NULL");
    if (stats::wanted())
      stats::spent(function,
                   part == COLL_STATS_SERVED      ? stats::Part::served
                   : part == COLL_STATS_FORWARDED ? stats::Part::forwarded
                                                  : stats::Part::one_rank,
                   seconds);
    return COLL_OK;
  });
}

coll_status coll_stats_sums(double sums[3]) {
  return guarded([&] {
    if (sums == nullptr) return failure(COLL_ERR_ARG, "coll_stats_sums: sums must not be NULL");
    const stats::Sums found = stats::sums();
    sums[0] = found.collectives, sums[1] = found.forwarded, sums[2] = found.run;
    return COLL_OK;
  });
}

coll_status coll_stats_all_ranks(int ranks, const coll_stats_spread spreads[3]) {
  return guarded([&] {
    if (spreads == nullptr) return failure(COLL_ERR_ARG, "coll_stats_all_ranks: spreads must not be NULL");
    const auto of = [&](int i) {
      const coll_stats_spread& spread = spreads[i];
      return stats::Spread{spread.least, spread.mean, spread.greatest, spread.least_rank, spread.greatest_rank};
    };
    if (stats::wanted()) stats::all_ranks(ranks, of(0), of(1), of(2));
    return COLL_OK;
  });
}

void coll_log_next_name(const char* name) { coll::comm::next_name = name; }

coll_status coll_stats_write(int rank) {
  return guarded([&] {
    if (stats::write(rank)) return COLL_OK;
    return failure(
        COLL_ERR_SYSTEM,
        "coll_stats_write: cannot write the file that COLL_STATS names; name a file in a writable directory");
  });
}

}  // extern "C"
