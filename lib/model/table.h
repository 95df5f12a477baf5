// SPDX-License-Identifier: BSD-3-Clause
// The cost parameters of one machine: of the contention model (CMA II), of flags, copies and reductions, and of the
// links that ranks share. One JSON file per machine, which table_json.h reads and writes.
//
// Units: microseconds (1e-6 s), nanoseconds where a name says so, GB/s = 1e9 bytes per second, bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algo/registry.h"
#include "topo/machine.h"

namespace coll::model {

// One number per distance of two ranks, nearest first. A distance that a file omits takes the value of the next nearer
// distance in the file, or else of the next farther one.
struct ByDistance {
  std::array<double, topo::distance_count> at{};
  double operator[](topo::Distance distance) const { return at[size_t(distance)]; }
  static ByDistance all(double value) {
    ByDistance made;
    made.at.fill(value);
    return made;
  }
};

// How much longer locking a page takes if c processes access one owner: a quadratic with gamma(1) = 1. The papers' fits
// do not pass through that point (0.11 + 1.6 on KNL), so only their two slopes are used. If c exceeds the ranks of a
// socket, the lock moves between sockets, and everything takes `across` times as long (CMA Fig. 5).
struct Gamma {
  double quadratic = 0, linear = 0;
  double across = 1;
  double residual = 0;  // of the fit: root of the mean square, relative
  double operator()(double c, bool across_sockets = false) const {
    if (c <= 1) return 1;
    return (1 + quadratic * (c * c - 1) + linear * (c - 1)) * (across_sockets ? across : 1);
  }
};

// The mechanisms by which a process accesses the memory of another.
enum class Mechanism : uint8_t { cma, kcoll_first_touch, kcoll_pinned, mapped, shared_memory };
inline constexpr std::array<Mechanism, 5> all_mechanisms = {
    Mechanism::cma, Mechanism::kcoll_first_touch, Mechanism::kcoll_pinned, Mechanism::mapped, Mechanism::shared_memory};
const char* name(Mechanism mechanism);
// Kernel-assisted copies: one call per copy, which locks and pins pages.
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

// The bandwidth of one core: alone on the machine, and while all cores do the same.
struct Bandwidth {
  double alone_gbs = 0, all_gbs = 0;
};

// The rates of a core that repeatedly touches `bytes` of memory, while all cores do the same. Between two sizes they
// are interpolated by the logarithm of the size.
struct CacheRates {
  double bytes = 0;
  double load_gbs = 0, store_gbs = 0;             // of its own data
  double fetch_gbs = 0;                           // loads of data that a peer has just written
  double take_gbs = 0;                            // stores into lines that a peer has read
  double combine_gbs = 0, combine_fetch_gbs = 0;  // sources of a reduction: its own, data that a peer has just written
  double kernel_gbs = 0;  // copies by CMA without the locks of pages; 0: not measured, Access::bandwidth_gbs counts
};

// Shorter data are stored with ordinary stores to lines that a peer has read, at a rate of their own
// (lib/mem/shared_stores.h).
inline constexpr double short_store_bytes = 4096;

// The links that ranks share. 0 means no limit.
struct Links {
  double core_gbs = 0;    // one core, whatever its ranks do
  double l3_gbs = 0;      // out of one L3, or out of the caches of one NUMA node where there is no L3
  double memory_gbs = 0;  // the memory of one NUMA node
  double numa_gbs = 0;    // out of one NUMA node to others
  double socket_gbs = 0;  // out of one socket to others
};

// The sizes from which copies between cores are fastest with `rep movsb` (lib/mem/processor.h): of data that another core
// has just stored, and to memory that another core has read.
struct RepMovsb {
  static constexpr size_t never = SIZE_MAX;
  size_t load_min_bytes = never, store_min_bytes = never;
  bool operator==(const RepMovsb&) const = default;
};

struct Thresholds {
  double direct_bytes = 0;        // shorter vectors are staged; longer ones are accessed in place
  double non_temporal_bytes = 0;  // work sets of this size or more use non-temporal stores; 0: never
};

// Identifies the machine of a table. Two machines are the same if all of these are equal.
struct Fingerprint {
  std::string processor, kernel, mitigations;
  int sockets = 0, numas = 0, l3s = 0, cores = 0;
  uint64_t l2_bytes = 0, l3_bytes = 0;  // of one cache
  bool l3_inclusive = false;
  bool operator==(const Fingerprint&) const = default;
};

// The algorithm that calibration measured as the fastest, for one collective, number of ranks and size class.
struct Chosen {
  plan::Collective collective = plan::Collective::barrier;
  int ranks = 2;
  size_t up_to_bytes = 0;  // the last size of the class, as Situation::bytes; it begins after the previous class
  const algo::Algorithm* algorithm = nullptr;  // null: "latency", the hand-written latency path
  algo::Parameters parameters;
  bool kernel_copies = false;  // ordinary memory was moved by kernel-assisted copies
  double predicted_us = 0;     // the model's price of up_to_bytes
  double measured_us = 0;      // the measured time of up_to_bytes; 0: not measured
};

// Buffers of this size or more lie on huge pages, if calls use them repeatedly (lib/mem/huge_pages.h).
inline constexpr double long_buffer_bytes = 512 << 10, huge_page_bytes = 2 << 20;
// The size of the pages that a copy from or to a buffer of `buffer_bytes` locks; `huge`: of long buffers huge pages.
inline double page_bytes(const Access& access, bool huge, double buffer_bytes) {
  return huge && buffer_bytes >= long_buffer_bytes ? huge_page_bytes : access.page_bytes;
}

struct Table {
  std::string name, description;
  std::string date;      // of the measurement, "2026-11-21"; "" for data from a paper
  std::string topology;  // as topo::load_synthetic() reads it
  Fingerprint fingerprint;
  std::array<Access, all_mechanisms.size()> access;
  bool huge_pages = false;  // the kernel locks a huge page at once, and long buffers lie on huge pages
  ByDistance flag_ns;       // from a post to the waiting reader's next step
  double line_ns = 0;       // a cache line serves its readers one after another, each for this time
  double look_ns = 0;       // a wait whose flag has been posted already; several such reads overlap
  double step_ns = 0;       // the executor's own time for a step
  Bandwidth copy, copy_non_temporal, reduce, reduce_non_temporal;  // reduce: bytes of sources combined
  std::vector<CacheRates> caches;  // ascending by bytes; empty: not measured, the rates above are used for all sizes
  double short_take_gbs = 0;       // as CacheRates::take_gbs, for less than short_store_bytes; 0: not measured
  double overlap = 1;  // the shorter of a copy's loads and stores: the share of it that the longer one does not hide
  Links links;
  Thresholds thresholds;
  std::optional<RepMovsb> rep_movsb;                       // none: the processor's own
  std::vector<Chosen> choices;                             // ascending by collective, ranks, up_to_bytes
  std::vector<std::pair<std::string, std::string>> notes;  // the sources of the numbers

  const Access& of(Mechanism mechanism) const { return access[size_t(mechanism)]; }
};

// The rates for `bytes`; beyond the table's ends those of the nearest size. REQUIRES: caches are not empty.
CacheRates rates_at(const Table& table, double bytes);
// The rate of stores of `bytes` at once to slots that a peer has read.
double take_gbs(const Table& table, double bytes);

// The total caches of `ranks` ranks: C = c' + p c'' (YHCCL 4.2), where c'' counts only if the last level is not
// inclusive.
uint64_t available_cache_bytes(const Table& table, int ranks);

}  // namespace coll::model
