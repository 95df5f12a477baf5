// SPDX-License-Identifier: BSD-3-Clause
// What one machine costs, as data: the parameters of the contention model (CMA II), of flags, copies and reductions, and
// of what ranks share. One JSON file per machine; read and write in table_json.h, what the numbers mean here.
//
// Units: microseconds (1e-6 s), nanoseconds where a name says so, GB/s = 1e9 bytes per second, bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "algo/registry.h"
#include "topo/machine.h"

namespace coll::model {

// One number per distance of two ranks, nearest first. What a file leaves out takes the value of the next nearer class
// that it gives, else of the next farther one.
struct ByDistance {
  std::array<double, topo::distance_count> at{};
  double operator[](topo::Distance distance) const { return at[size_t(distance)]; }
  static ByDistance all(double value) {
    ByDistance made;
    made.at.fill(value);
    return made;
  }
};

// How much longer the lock of a page takes when c processes access one owner: a quadratic through gamma(1) = 1. The texts'
// fits miss that point (0.11 + 1.6 on KNL), so they give the two slopes and the constant follows. Where c is
// more than one socket holds, the lock travels between sockets and all of it takes `across` times as long (CMA Fig. 5).
struct Gamma {
  double quadratic = 0, linear = 0;
  double across = 1;
  double residual = 0;  // of the fit: root of the mean square, relative
  double operator()(double c, bool across_sockets = false) const {
    if (c <= 1) return 1;
    return (1 + quadratic * (c * c - 1) + linear * (c - 1)) * (across_sockets ? across : 1);
  }
};

// The ways from one process's memory to another's.
enum class Mechanism : uint8_t { cma, kcoll_first_touch, kcoll_pinned, mapped, shared_memory };
inline constexpr std::array<Mechanism, 5> all_mechanisms = {
    Mechanism::cma, Mechanism::kcoll_first_touch, Mechanism::kcoll_pinned, Mechanism::mapped, Mechanism::shared_memory};
const char* name(Mechanism mechanism);
// Copies of the kernel: one call per copy, pages locked and pinned.
inline bool is_kernel_copy(Mechanism mechanism) {
  return mechanism == Mechanism::cma || mechanism == Mechanism::kcoll_first_touch ||
         mechanism == Mechanism::kcoll_pinned;
}

// T = startup + bytes / bandwidth + page_us * gamma(c) * ceil(bytes / page_bytes)   (CMA II)
struct Access {
  bool available = false;    // the machine has it
  ByDistance startup_us;     // alpha
  ByDistance bandwidth_gbs;  // 1 / beta, of one process alone
  double page_us = 0;        // l
  double page_bytes = 4096;  // s
  Gamma gamma;
};

// Of one core: alone on the machine, and while all cores do the same.
struct Bandwidth {
  double alone_gbs = 0, all_gbs = 0;
};

// What a core pays for bytes by where they lie, while all cores do the same: of so much memory that it touches again and
// again. Between two sizes the logarithm of the size decides.
struct CacheRates {
  double bytes = 0;
  double load_gbs = 0, store_gbs = 0;             // its own data
  double fetch_gbs = 0;                           // loads of what a peer has just written
  double take_gbs = 0;                            // stores into lines that a peer has read
  double combine_gbs = 0, combine_fetch_gbs = 0;  // sources of a reduction: its own, what a peer has just written
  double kernel_gbs = 0;  // copies by CMA, apart from their pages' locks; 0: not measured, its bandwidth counts
};

// What many ranks share. A number of 0 is no limit.
struct Links {
  double core_gbs = 0;    // what one core moves, whatever its ranks do
  double l3_gbs = 0;      // out of one L3, or out of the caches of one NUMA node where there is no L3
  double memory_gbs = 0;  // the memory of one NUMA node
  double numa_gbs = 0;    // out of one NUMA node to others
  double socket_gbs = 0;  // out of one socket to others
};

struct Thresholds {
  double direct_bytes = 0;  // shorter vectors are staged in shared memory, longer ones seen where they are
  double non_temporal_bytes =
      0;  // stored data that is not read again bypasses the cache from this work set on; 0: never
};

// Which machine a table is of; two are the same when all of this is.
struct Fingerprint {
  std::string processor, kernel, mitigations;
  int sockets = 0, numas = 0, l3s = 0, cores = 0;
  uint64_t l2_bytes = 0, l3_bytes = 0;  // of one instance
  bool l3_inclusive = false;
  bool operator==(const Fingerprint&) const = default;
};

// What the clock decided for one collective of so many ranks, up to so many bytes.
struct Chosen {
  plan::Collective collective = plan::Collective::barrier;
  int ranks = 2;
  size_t up_to_bytes = 0;  // as Question::bytes; the class ends here and begins where the one before ends
  const algo::Algorithm* algorithm = nullptr;  // null: "latency", the hand-written paths of the executor
  algo::Parameters parameters;
  bool kernel_copies = false;  // ordinary memory went by kernel copies
  double predicted_us = 0;     // of up_to_bytes, by the model
  double measured_us = 0;      // of up_to_bytes, by the clock; 0: never measured
};

struct Table {
  std::string name, description;
  std::string date;      // of the measurement, "2026-11-21"; "" for data from a text
  std::string topology;  // as topo::load_synthetic() reads it
  Fingerprint fingerprint;
  std::array<Access, all_mechanisms.size()> access;
  ByDistance flag_ns;  // from a post to the waiting reader's next step
  double line_ns = 0;  // a line serves its readers one after another, each for so long
  double look_ns = 0;  // one look at a flag that is already there; looks at several overlap
  double step_ns = 0;  // of the executor, for a step that costs nothing else
  Bandwidth copy, copy_non_temporal, reduce, reduce_non_temporal;  // reduce: bytes of sources combined
  std::vector<CacheRates> caches;  // ascending by bytes; empty: not measured, the rates above count for all sizes
  double overlap = 1;  // of a copy's loads and stores, the share of the shorter that does not hide behind the longer
  Links links;
  Thresholds thresholds;
  std::vector<Chosen> choices;                             // ascending by collective, ranks, up_to_bytes
  std::vector<std::pair<std::string, std::string>> notes;  // where which number comes from

  const Access& of(Mechanism mechanism) const { return access[size_t(mechanism)]; }
};

// The rates at `bytes`, the nearest size's beyond the ends. REQUIRES: caches are not empty.
CacheRates rates_at(const Table& table, double bytes);

// Caches that `ranks` ranks have together: C = c' + p c'' (YHCCL 4.2), c'' where the last level is not inclusive.
uint64_t available_cache_bytes(const Table& table, int ranks);

}  // namespace coll::model
