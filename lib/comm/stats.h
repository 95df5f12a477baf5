// SPDX-License-Identifier: BSD-3-Clause
// COLL_STATS: what this process's collectives have cost, by collective, size and algorithm.
//
//   1       a table on standard error when the process ends
//   json    the same as JSON
//   else    the name of a file for the JSON
//
// Written by rank 0 of the first communicator, or by every rank when the file's name contains %r, its rank.
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

// Called by every new communicator; the first one decides. Thread safe, as all of these.
void begin(int rank);

// One call of `bytes` by this rank that took `seconds`.
void record(std::string_view collective, size_t bytes, double seconds, std::string_view algorithm,
            std::string_view transport);

// What auto-tuning has found for calls of one size class, for `ranks`: the setting that they use now, and how long it takes;
// that of the books. The last one counts.
void tuned(std::string_view collective, size_t bytes, int ranks, bool request, const std::string& setting, double us,
           const std::string& usual, double usual_us);

// A call that somebody in front of libcoll left to another library; SIZE_MAX bytes when nobody knows how many.
void passed_on(std::string_view collective, std::string_view why, size_t bytes);

// Writes now, as `rank`; at the end of the process nothing is written any more. False when a file cannot be written.
bool write(int rank);

// The report, "" when nothing was counted; for write(), and for tests.
std::string text(int rank);
std::string json(int rank);

}  // namespace coll::comm::stats
