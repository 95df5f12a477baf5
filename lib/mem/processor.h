// SPDX-License-Identifier: BSD-3-Clause
// How a processor moves bytes from core to core: what is quickest differs from one to the next, and is found by measuring.
#pragma once

#include <cstddef>
#include <cstdint>

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
};

namespace detail {
extern const Processor running;
}
// The one that this process runs on; known before main(). Thread safe.
inline const Processor& processor() { return detail::running; }

}  // namespace coll::mem
