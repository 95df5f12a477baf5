// SPDX-License-Identifier: BSD-3-Clause
// A digest of text (FNV-1a) that is equal on every machine and in every version. It does not protect against forgery.
#pragma once

#include <cstdint>
#include <string_view>

namespace coll::config {

inline constexpr uint64_t digest_of_nothing = 0xcbf29ce484222325u;

// Extends the digest `before` by `text`.
constexpr uint64_t digest(std::string_view text, uint64_t before = digest_of_nothing) {
  for (const char c : text) before = (before ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return before;
}

}  // namespace coll::config
