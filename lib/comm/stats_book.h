// SPDX-License-Identifier: BSD-3-Clause
// The counters of COLL_STATS, shared by stats.cc and stats_reports.cc.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "comm/stats.h"

namespace coll::comm::stats {

// Sizes up to 8 B, 64 B, 512 B, 4 KiB ... 128 MiB, and above.
inline constexpr int classes = 9;
inline constexpr int unknown_size = classes + 1;
constexpr size_t class_bytes(int size_class) { return size_t(8) << 3 * size_class; }
int class_of(size_t bytes);

// `function` is empty for calls of libcoll's own API.
struct Key {
  std::string function, collective;
  int size_class;
  std::string algorithm, transport;
  bool operator<(const Key& other) const {
    return std::tie(collective, size_class, function, algorithm, transport) <
           std::tie(other.collective, other.size_class, other.function, other.algorithm, other.transport);
  }
};
using StatsKey = std::pair<std::string, int>;  // a collective and a size class
struct Row {
  uint64_t calls = 0;
  uint64_t bytes = 0;
  double seconds = 0;
};
struct Reason {
  std::string why, function;
  bool operator<(const Reason& other) const { return std::tie(why, function) < std::tie(other.why, other.function); }
};
struct Share {
  uint64_t calls = 0;
  double seconds = 0;
  void add(double more_seconds) { calls++, seconds += more_seconds; }
  void add(const Share& other) { calls += other.calls, seconds += other.seconds; }
};
struct Function {
  Share served, forwarded, one_rank;
  double seconds() const { return served.seconds + forwarded.seconds + one_rank.seconds; }
  void add(const Function& other) {
    served.add(other.served), forwarded.add(other.forwarded), one_rank.add(other.one_rank);
  }
};

// Results of auto-tuning, by collective, size class, number of ranks, and whether the calls are requests.
using TunedKey = std::tuple<std::string, size_t, int, bool>;
struct Tuned {
  size_t bytes = 0;
  std::string setting, usual;
  double us = 0, usual_us = 0;
};

struct Counts {
  double began_seconds = 0;
  std::map<Key, Row> rows;
  std::map<StatsKey, std::map<Reason, Share>> forwarded_calls;
  std::map<std::string, Function> functions;
  std::map<TunedKey, Tuned> tuned;
  int ranks = 0;  // number of ranks of the spreads; 0: there are no spreads
  Spread collectives, forwarded, run;

  bool empty() const { return rows.empty() && forwarded_calls.empty() && functions.empty(); }
  uint64_t forwarded_calls_of(const StatsKey& key) const;
  // The number of calls of this size class, served and forwarded; of all sizes if the class is unknown_size.
  uint64_t calls_of(const StatsKey& wanted) const;
  Function total() const;
};

// `complete`: this is the final report of the process, not a partial one. Without any counts the reports are "".
std::string text_of(const Counts& counts, int rank, bool complete);
std::string json_of(const Counts& counts, int rank, bool complete);
std::string prometheus_of(const Counts& counts, int rank);

}  // namespace coll::comm::stats
