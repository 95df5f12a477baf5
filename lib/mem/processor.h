// SPDX-License-Identifier: BSD-3-Clause
// How a processor moves bytes from core to core: what is quickest differs from one to the next, and is found by measuring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace coll::mem {

struct Processor {
  // From here on `rep movsb` is the best way to load what another core has stored,
  size_t string_load_bytes;
  // and to store what another core reads,
  size_t string_store_bytes;
  // and to do so over lines that a distant core holds, or that nobody has asked for: it does not wait for what is in them.
  // `never`: there it is better to bypass the caches, with what leaves them anyhow, too.
  size_t string_over_bytes;
  // Up to here a payload is best in the same few lines next to its flag every time, beyond in a fresh place: of ranks that
  // all wait for each other, and of others.
  size_t beside_flag_together_bytes, beside_flag_bytes;

  static constexpr size_t never = SIZE_MAX;
  bool strings_overwrite() const { return string_over_bytes != never; }
  bool operator==(const Processor&) const = default;
};

// A processor that the library treats differently from the others.
struct Profile {
  const char* name;        // a value of COLL_CPU
  const char* model;       // the name that such a processor has for itself: defaults and tables depend on it
  uint64_t l2_bytes;       // cache of one core
  const Processor& rules;  // all that decides here, so that any processor can follow the rules of any other
};
std::span<const Profile> profiles();

namespace detail {
extern const Profile* const forced;
extern const Processor running;
}  // namespace detail

// The one that this process runs on, or that COLL_CPU named when it started; known before main(). Thread safe.
inline const Processor& processor() { return detail::running; }

// The profile that COLL_CPU named when this process started; null without it or when it named none.
inline const Profile* forced_profile() { return detail::forced; }

// Describes the present value of COLL_CPU and lists the valid ones if it is wrong; returns "" if it is right or not set.
std::string forced_profile_error();

// Replaces a machine's processor name and the size of its L2 caches by those of the forced profile, if there is one.
void apply_forced_profile(std::string& model, uint64_t& l2_bytes);

}  // namespace coll::mem
