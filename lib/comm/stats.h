// SPDX-License-Identifier: BSD-3-Clause
// COLL_STATS: counts and times this process's collectives, by collective, size and algorithm.
//
//   1           a table on standard error when the process ends
//   json        the same as JSON
//   prometheus  the same in Prometheus's text format
//   else        the name of a file for the JSON, or for Prometheus where it ends in .prom
//
// Rank 0 writes the report, or every rank if the file's name contains %r, which is replaced by the rank; also every
// COLL_STATS_EVERY seconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace coll::comm::stats {

inline std::atomic<bool> wanted_flag{false};

// Whether COLL_STATS requests statistics; false before begin(). Costs one load.
inline bool wanted() { return wanted_flag.load(std::memory_order_relaxed); }

// Every new communicator calls it; the first call of the process reads COLL_STATS. All functions here are thread-safe.
void begin(int rank);

// The MPI function, such as "MPI_Bcast", that this thread is in; null: libcoll's own API. REQUIRES: the string is never
// freed.
void set_function(const char* function);
const char* function();

// Counts one call of `bytes` on this rank that took `seconds`, for `function` or, if null, for libcoll's own API.
void record(const char* function, std::string_view collective, size_t bytes, double seconds, std::string_view algorithm,
            std::string_view transport);

// Adds a call to the time that the rank spent in a function. The call was served by libcoll, forwarded to MPI, or had
// one rank only.
enum class Part { served, forwarded, one_rank };
void spent(std::string_view function, Part part, double seconds);

// Counts a call of `seconds` that the shim forwarded to MPI, and the reason. `bytes` is SIZE_MAX if the size is not
// known.
void count_forwarded(std::string_view function, std::string_view collective, std::string_view why, size_t bytes,
                     double seconds);

// Sums of this rank in seconds. The caller compares them between ranks and passes the result to all_ranks().
struct Sums {
  double collectives, forwarded, run;
};
Sums sums();
struct Spread {
  double least, mean, most;
  int least_rank, most_rank;
};
void all_ranks(int ranks, const Spread& collectives, const Spread& forwarded, const Spread& run);

// Stores the result of auto-tuning for calls of one size class on `ranks`: the setting in use and its time, and the
// default (`usual`) and its time. A later result replaces an earlier one.
void tuned(std::string_view collective, size_t bytes, int ranks, bool request, const std::string& setting, double us,
           const std::string& usual, double usual_us);

// Writes the final report now, as `rank`, instead of at the end of the process. Returns false if it cannot be written.
bool write(int rank);

// The final report in one format; "" if nothing was counted.
std::string text(int rank);
std::string json(int rank);
std::string prometheus(int rank);

}  // namespace coll::comm::stats

namespace coll::comm {

// The name that COLL_LOG prints for the next communicator that this thread creates; null: none.
extern thread_local const char* next_name;

}  // namespace coll::comm
