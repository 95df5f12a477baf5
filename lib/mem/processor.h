// SPDX-License-Identifier: BSD-3-Clause
// How a processor moves bytes between cores. The fastest way differs between processors and was measured on each.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace coll::mem {

struct Processor {
  // From this size on `rep movsb` is the fastest way to load data that another core has stored,
  size_t rep_movsb_load_min_bytes;
  // and to store data that another core reads.
  size_t rep_movsb_store_min_bytes;
  // From this size on `rep movsb` stores without a read-for-ownership to lines that are dirty in a cache behind another
  // L3 or were not prefetched. `never`: non-temporal stores are faster there, also for data that will be evicted
  // anyway.
  size_t rep_movsb_no_rfo_min_bytes;
  // Up to this size a payload is fastest in the mailbox next to its flag, above it in a new place each time: for
  // collectives in which all ranks wait for each other, and for rooted ones.
  size_t inline_max_bytes_symmetric, inline_max_bytes_rooted;

  static constexpr size_t never = SIZE_MAX;
  bool has_rfo_free_stores() const { return rep_movsb_no_rfo_min_bytes != never; }
  bool operator==(const Processor&) const = default;
};

// A processor that has its own values.
struct Profile {
  const char* name;        // a value of COLL_CPU
  const char* model;       // its name in CPUID: defaults and tables depend on it
  uint64_t l2_bytes;       // cache of one core
  const Processor& rules;  // may be applied on any other processor (COLL_CPU)
};
std::span<const Profile> profiles();

namespace detail {
extern const Profile* const forced;
extern const Processor running;
extern std::atomic<size_t> rep_movsb_load, rep_movsb_store;
}  // namespace detail

// The one that this process runs on, or that COLL_CPU named when it started; known before main(). Thread safe.
inline const Processor& processor() { return detail::running; }

// The two sizes in use: those of processor(), or those measured on this machine. They decide only how this process copies,
// so they may change at any time and differ between ranks. Thread safe.
inline size_t rep_movsb_load_min_bytes() { return detail::rep_movsb_load.load(std::memory_order_relaxed); }
inline size_t rep_movsb_store_min_bytes() { return detail::rep_movsb_store.load(std::memory_order_relaxed); }
// Replaces them, unless COLL_CPU named a profile. Thread safe.
void use_measured_rep_movsb(size_t load_min_bytes, size_t store_min_bytes);

// The profile that COLL_CPU named when this process started; null without it or when it named none.
inline const Profile* forced_profile() { return detail::forced; }

// If COLL_CPU has a wrong value now, describes it and lists the valid ones; otherwise returns "".
std::string forced_profile_error();

// Replaces a machine's processor name and the size of its L2 caches by those of the forced profile, if there is one.
void apply_forced_profile(std::string& model, uint64_t& l2_bytes);

}  // namespace coll::mem
