// SPDX-License-Identifier: BSD-3-Clause
// COLL_STATS: what this process's collectives have cost, by collective, size and algorithm.
//
//   1           a table on standard error when the process ends
//   json        the same as JSON
//   prometheus  the same in Prometheus's text format
//   else        the name of a file for the JSON, or for Prometheus where it ends in .prom
//
// Written by rank 0, or by every rank when the file's name contains %r, its rank; also every COLL_STATS_EVERY seconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace coll::comm::stats {

inline std::atomic<bool> wanted_flag{false};

// One load. False until begin() has found that COLL_STATS asks for something.
inline bool wanted() { return wanted_flag.load(std::memory_order_relaxed); }

double now_seconds();

// Called by every new communicator; the first call decides. Thread safe, as all of these.
void begin(int rank);

// The function of the program, such as "MPI_Bcast", that this thread is in; null: of libcoll's own API. Never freed.
void set_function(const char* function);
const char* function();

// One call of `bytes` by this rank that took `seconds`, for `function` or, if that is null, for libcoll's own API.
void record(const char* function, std::string_view collective, size_t bytes, double seconds, std::string_view algorithm,
            std::string_view transport);

// What a call of a function took of the rank's time: it was served, or left to another library, or there was one rank.
enum class Part { served, forwarded, one_rank };
void spent(std::string_view function, Part part, double seconds);

// A call of `seconds` that a shim left to another library; SIZE_MAX bytes where the number is not known.
void passed_on(std::string_view function, std::string_view collective, std::string_view why, size_t bytes,
               double seconds);

// Sums of this rank, for the comparison of ranks, whose result all_ranks() takes. Seconds.
struct Sums {
  double collectives, forwarded, run;
};
Sums sums();
struct Spread {
  double least, mean, most;
  int least_rank, most_rank;
};
void all_ranks(int ranks, const Spread& collectives, const Spread& forwarded, const Spread& run);

// What auto-tuning has found for calls of one size class, for `ranks`: the setting that they use now, and how long it takes;
// that of the books. The last one counts.
void tuned(std::string_view collective, size_t bytes, int ranks, bool request, const std::string& setting, double us,
           const std::string& usual, double usual_us);

// Writes now, as `rank`; at the end of the process nothing is written any more. False when a file cannot be written.
bool write(int rank);

// The report, "" when nothing was counted; for write(), and for tests.
std::string text(int rank);
std::string json(int rank);
std::string prometheus(int rank);

}  // namespace coll::comm::stats

namespace coll::comm {

// The name that COLL_LOG prints of this thread's next communicator; null: none.
extern thread_local const char* next_name;

}  // namespace coll::comm
